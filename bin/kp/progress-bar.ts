const places = 20

/** A bar of twenty characters and the percentage, rounded down so that 100 % means done. `share` is clamped to 0–1. */
export function progressBar(share: number): string {
  const done = Math.max(0, Math.min(1, share))
  const full = Math.round(done * places)
  return `${'█'.repeat(full)}${'░'.repeat(places - full)} ${String(Math.floor(done * 100)).padStart(3)} %`
}
