/**
 * The kinds of receivers, one entry each: what they are sent, where, and how often. A new kind is a name in
 * `config/notify.ts` and an entry here, which the compiler asks for.
 */
import type { Receiver } from '../config/config.js';
import { type Alert, alertmanagerMessage, groupLabelsOf, webhookMessage } from './alert.js';

export interface ReceiverKind {
  /** where alerts are posted to, from the configured address */
  address(url: string): string;
  /** body of a post */
  message(alerts: Alert[], receiver: string, pageUrl: string): unknown;
  /** alerts of different groups may not share a post */
  groupOf(alert: Alert): string;
  /** it forgets what is not sent again and again, and reminds people itself; others are reminded now and then */
  forgets: boolean;
}

export const RECEIVER_KINDS: Record<Receiver['type'], ReceiverKind> = {
  alertmanager: {
    address: (url) => `${url.replace(/\/+$/, '')}/api/v2/alerts`,
    message: (alerts) => alertmanagerMessage(alerts),
    groupOf: () => '',
    forgets: true,
  },
  webhook: {
    address: (url) => url,
    message: (alerts, receiver, pageUrl) => webhookMessage(receiver, alerts, pageUrl),
    groupOf: (alert) => JSON.stringify(groupLabelsOf(alert)),
    forgets: false,
  },
};
