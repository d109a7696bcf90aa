/**
 * A disk whose power can be cut: ext4 in an image on a loop device. A cut stops the file system at once, without
 * writing its journal or anything else that waits in memory; what is mounted again is what had reached the image by
 * then: a copy of it, because somebody else's mounts (a container that was started meanwhile) may keep the old file
 * system alive, and the same image would be that one again, without power.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasProgram, skipUnless } from './system.js';

const run = (program: string, ...words: string[]) =>
  execFileSync(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
/** EXT4_IOC_SHUTDOWN without a flush of the journal; Node has no ioctl, and every Debian has perl. */
const SHUT_DOWN = 'open F, "<", $ARGV[0] or die $!; $how = pack("L", 2); ioctl(F, 0x8004587D, $how) or die $!';
const PROGRAMS = ['mkfs.ext4', 'mount', 'umount', 'perl'];

export function skipUnlessPower(test: Mocha.Context): void {
  const mayMount = process.getuid?.() === 0 && spawnSync('losetup', ['--find'], { stdio: 'ignore' }).status === 0;
  skipUnless(test, mayMount && PROGRAMS.every(hasProgram), 'root, a loop device and mkfs.ext4 are needed to cut power');
}

export class Disk {
  readonly #base = mkdtempSync(join(tmpdir(), 'tgospa-disk-'));
  #image = join(this.#base, 'image-0');
  #copies = 0;
  readonly folder = join(this.#base, 'disk');

  constructor(megabytes = 1024) {
    mkdirSync(this.folder);
    run('truncate', '-s', `${megabytes}M`, this.#image);
    run('mkfs.ext4', '-q', this.#image);
    this.#mount();
  }

  #mount(): void {
    run('mount', '-o', 'loop', this.#image, this.folder);
  }

  /** Nothing is written any more; whoever has it open gets errors. */
  cutPower(): void {
    run('perl', '-e', SHUT_DOWN, this.folder);
  }

  /** After everybody who used it has ended. */
  powerUp(): void {
    run('umount', this.folder);
    const before = this.#image;
    this.#image = join(this.#base, `image-${++this.#copies}`);
    run('cp', '--sparse=always', before, this.#image);
    rmSync(before);
    this.#mount();
  }

  close(): void {
    run('umount', this.folder);
    rmSync(this.#base, { recursive: true, force: true });
  }
}
