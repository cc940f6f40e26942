/** What a step stands still on: a code, and the thread that cannot be rewritten where it is about one. */
export function faultParts(fault: string | null): { code: string; thread: string | null } {
  const [code = '', ...rest] = (fault ?? 'internal').split(':')
  const thread = rest.join(':')
  return { code, thread: code === 'conflict' && thread !== '' ? thread : null }
}
