/** The version of the document's schema, as in the header KP-Schema-Version. */
export const schemaVersion = 'v1'

/** What one import may bring. Bytes as they arrive. */
export const importLimits = { items: 250_000, bytes: 2 * 2 ** 30 }

/** The UTC day that a time belongs to. */
export const dayOf = (now: Date): { start: Date; end: Date } => {
  const start = new Date(now)
  start.setUTCHours(0, 0, 0, 0)
  return { start, end: new Date(start.getTime() + 86_400_000) }
}

/** How long a prepared export is there from when it was ready, in milliseconds. */
export const preparedKept = 4 * 3_600_000

/** How long it is remembered that there was one, so that whoever asks for it is told that it expired; milliseconds. */
export const rememberedFor = 24 * 3_600_000

/**
 * Where the records of each agent lie in a person's archive: `agents/<id>`. Ids that differ in case alone get folders that differ in more,
 * for file systems that would take them for one.
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
