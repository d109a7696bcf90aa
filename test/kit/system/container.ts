/**
 * What a container engine would do, as far as it can be done without one: reads a Dockerfile, runs its build steps in
 * folders that stand for those of the image, and starts a program the way the image and compose.yaml say: own
 * root, read-only, one writable volume, an ordinary user without any capability.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export interface Step {
  keyword: string;
  text: string;
}

/** The instructions of a Dockerfile by stage, with continued lines joined. */
export function stagesOf(dockerfile: string): Step[][] {
  const stages: Step[][] = [];
  const lines = dockerfile
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll('\\\n', ' ')
    .split('\n');
  for (const line of lines) {
    const [, keyword, text] = /^([A-Z]+) (.*)$/.exec(line.trim()) ?? [];
    if (!keyword) continue;
    if (keyword === 'FROM') stages.push([]);
    stages.at(-1)!.push({ keyword, text });
  }
  return stages;
}

/** What the one instruction of this kind in a stage says. */
export function instruction(stage: Step[], keyword: string): string {
  const found = stage.filter((step) => step.keyword === keyword);
  if (found.length !== 1) throw new Error(`the stage has ${found.length} times ${keyword}`);
  return found[0].text;
}

/**
 * Runs the steps of a stage that starts from a plain Node image. Absolute paths of the image that are in `folders`
 * are put where those say. The context is copied without what .dockerignore names.
 */
export function runStage(stage: Step[], context: string, folders: Record<string, string>): void {
  const ignored = readFileSync(join(context, '.dockerignore'), 'utf8').split('\n').filter(Boolean);
  const placed = (text: string) =>
    text.replace(/(?<![\w.])\/(\w+)(?=\/|\s|$)/g, (whole) => (whole in folders ? folders[whole] : whole));
  let cwd = context;
  for (const { keyword, text } of stage) {
    if (keyword === 'WORKDIR') {
      cwd = placed(text);
      mkdirSync(cwd, { recursive: true });
    } else if (keyword === 'COPY') {
      const names = text.split(' ').slice(0, -1);
      for (const name of names)
        cpSync(join(context, name), name === '.' ? cwd : join(cwd, name), {
          recursive: true,
          filter: (file) => !ignored.includes(relative(context, file)),
        });
    } else if (keyword === 'RUN') {
      const { status, stdout, stderr } = spawnSync('sh', ['-ec', placed(text)], { cwd, encoding: 'utf8' });
      if (status !== 0) throw new Error(`RUN ${text}\n${stdout}\n${stderr}`);
    }
  }
}

/** Makes a root of its own from the programs of this machine, all read-only, and goes there as an ordinary user. */
const CONTAIN = `
set -eu
root=$1 app=$2 data=$3 node=$4; shift 4
mount -t tmpfs -o mode=755 tmpfs "$root"
for name in usr lib lib64 bin etc; do
  if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --bind "/$name" "$root/$name"; mount -o remount,bind,ro "$root/$name"; fi
done
case "$node" in /usr/*|/bin/*) ;; *) mkdir -p "$root$node"; mount --bind "$node" "$root$node"; mount -o remount,bind,ro "$root$node";; esac
mkdir "$root/app" "$root/data" "$root/proc" "$root/dev" "$root/tmp"
mount --bind "$app" "$root/app"; mount -o remount,bind,ro "$root/app"
mount --bind "$data" "$root/data"
mount --rbind /proc "$root/proc"
for name in null urandom; do touch "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mount -o remount,ro "$root"
exec chroot "$root" setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
`;

/** Whether this machine lets a test make a root of its own. */
export const canContain = (): boolean =>
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt'], { stdio: 'ignore' }).status === 0;

/** Starts `command` so that /app is `app`, /data is `data`, and nothing else can be written. */
export function contained(folder: string, app: string, data: string, command: string[]): ChildProcess {
  const root = join(folder, 'root');
  mkdirSync(root, { recursive: true });
  const node = dirname(process.execPath);
  const program = command.map((word) => (word === 'node' ? process.execPath : word));
  return spawn('unshare', ['--mount', 'sh', '-c', CONTAIN, 'contain', root, app, data, node, ...program], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, NODE_ENV: 'production' },
  });
}
