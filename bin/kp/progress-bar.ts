const places = 20

/** A bar of twenty places and the percentage, rounded down, so that 100 % is the end; `share` is 0–1, what is beyond counts as the nearest. */
export function progressBar(share: number): string {
  const done = Math.max(0, Math.min(1, share))
  const full = Math.round(done * places)
  return `${'█'.repeat(full)}${'░'.repeat(places - full)} ${String(Math.floor(done * 100)).padStart(3)} %`
}
