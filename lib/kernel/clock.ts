/** Business time. It comes from here and never from SQL's `now()`, so that a journey can move it. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** A clock that stands where it is put. */
export function movableClock(start: Date): Clock & { advance(milliseconds: number): void } {
  let at = start.getTime()
  return {
    now: () => new Date(at),
    advance: (milliseconds) => {
      at += milliseconds
    },
  }
}
