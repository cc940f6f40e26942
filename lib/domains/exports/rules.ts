/** The schema version of the document, as in the header KP-Schema-Version. */
export const schemaVersion = 'v1'

/** Limits of one import; bytes as received. */
/** `ignoredParts`: distinct names of parts that are not imported. They are counted in the answer. */
export const importLimits = { items: 250_000, ignoredParts: 100, bytes: 2 * 2 ** 30 }

/** Returns the start and end of the UTC day. */
export const utcDayOf = (now: Date): { start: Date; end: Date } => {
  const start = new Date(now)
  start.setUTCHours(0, 0, 0, 0)
  return { start, end: new Date(start.getTime() + 86_400_000) }
}

/** Milliseconds for which a prepared export is available once it is ready. */
export const preparedExportRetention = 4 * 3_600_000

/** Milliseconds for which an expired export is still listed; downloads return `expired` meanwhile. */
export const rememberedFor = 24 * 3_600_000

/** Exports that expired before this time outlived their term: the job that deletes expired files may be an hour late. */
export const overdueBefore = (now: Date): Date => new Date(now.getTime() - 3_600_000)

/**
 * Returns the folder of each agent in a person's archive: `agents/<id>`. Folders also differ when ids differ only in
 * case, for case-insensitive file systems.
 */
export function foldersOf(agents: readonly string[]): Map<string, string> {
  const taken = new Set<string>()
  const folders = new Map<string, string>()
  for (const id of agents) {
    const plain = id.replaceAll(/[^\w.-]/g, '_')
    let name = plain
    for (let n = 2; taken.has(name.toLowerCase()); n++) name = `${plain}-${n}`
    taken.add(name.toLowerCase())
    folders.set(id, `agents/${name}`)
  }
  return folders
}
