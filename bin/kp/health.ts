/** The result of one check. `todo`: what to do. skipped: the check does not apply. */
export interface HealthCheck {
  name: string
  state: 'ok' | 'warning' | 'fault' | 'skipped'
  found: string
  todo?: string
}

export const ok = (name: string, found: string): HealthCheck => ({ name, state: 'ok', found })
export const warning = (name: string, found: string, todo: string): HealthCheck => ({
  name,
  state: 'warning',
  found,
  todo,
})
export const fault = (name: string, found: string, todo: string): HealthCheck => ({ name, state: 'fault', found, todo })
export const skipped = (name: string, found: string): HealthCheck => ({ name, state: 'skipped', found })

const mebibyte = 1024 * 1024

/** Judges free space in bytes. */
export function checkFreeSpace(name: string, free: number, folder: string): HealthCheck {
  const text =
    free >= 10 * 1024 * mebibyte
      ? `${Math.floor(free / 1024 / mebibyte)} GiB free`
      : `${Math.floor(free / mebibyte)} MiB free`
  if (free < 200 * mebibyte)
    return fault(name, `${text} for ${folder}`, 'Free disk space now: writes fail when the disk is full.')
  if (free < 2 * 1024 * mebibyte) return warning(name, `${text} for ${folder}`, 'Free disk space soon.')
  return ok(name, `${text} for ${folder}`)
}

/** Judges how far this clock is ahead of the server's, in milliseconds. The server's Date has whole seconds. */
export function checkClockSkew(name: string, ahead: number, of = 'the registry'): HealthCheck {
  const seconds = Math.round(Math.abs(ahead) / 1000)
  if (seconds <= 5) return ok(name, `as ${of}’s`)
  const found = `${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} ${of}’s`
  const todo = `Synchronize the clocks of this machine and ${of} with NTP. Receipts and limits depend on them.`
  return seconds > 300 ? fault(name, found, todo) : warning(name, found, todo)
}

/** Judges a file that only its owner may read. `mode` as returned by stat. */
export function checkMode(name: string, file: string, mode: number): HealthCheck {
  const rights = mode & 0o777
  return (rights & 0o077) === 0
    ? ok(name, `${file} is readable only by its owner`)
    : fault(name, `${file} can be used by others (mode ${rights.toString(8)})`, `chmod go= ${file}`)
}
