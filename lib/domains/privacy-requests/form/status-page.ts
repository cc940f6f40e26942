/** Returns the status page of a token, which follows `#`: browsers do not send it to servers. */
export const statusPageOf = ({ origin }: { origin: string }, token: string): string =>
  `${origin}/request/status#${token}`
