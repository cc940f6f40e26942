import { isInKeySpace } from '#lib/domains/projects/key-space.ts'
import { foreignRefs } from '#lib/domains/projects/provenance/shared-pointers.ts'
import { readable } from '#lib/domains/projects/values/readable.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ItemId, ReadPage, ReadPlace, UnreadReason } from '#lib/kernel/data-source.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import { labelOf, type ObjectsSourcePorts, objectKeySpace } from './object-search.ts'
import { wordsItemOf } from './rules.ts'
import { mostRead, ownFolders } from './survey.ts'

const keysAtOnce = 100

/** The item of an object in the key space of the projects, unless a pointer of another project names it. */
async function itemsOf(
  ports: ObjectsSourcePorts,
  key: string,
  projects: readonly string[],
  tx: Transaction,
): Promise<ItemId[]> {
  const space = await objectKeySpace(ports, tx, projects)
  if (!isInKeySpace(space, key) && !projects.some((project) => key.includes(project))) return []
  return (await foreignRefs(tx, 'objects', [key], [...projects])).has(key) ? [] : [wordsItemOf(key)]
}

/** Reads all objects of applications in every version. Rows name this installation's own objects, which are deleted with them. */
export const objectReader =
  (ports: ObjectsSourcePorts) =>
  async (after: string | null, visit: (place: ReadPlace) => Promise<void>): Promise<ReadPage> => {
    const { objects } = ports
    await requireConnectedStores(ports.whatIsMissing)
    const unread: Partial<Record<UnreadReason, number>> = {}
    const add = (reason: UnreadReason) => {
      unread[reason] = (unread[reason] ?? 0) + 1
    }
    const keys = await objects.list('', after ?? '', keysAtOnce)
    for (const key of keys) {
      const own = ownFolders.find((folder) => key.startsWith(folder))
      // Continue after the folder: its keys continue with letters, which sort before `~`.
      if (own !== undefined) return { next: `${own}~`, unread }
      for (const { version, at } of await objects.versions(key)) {
        if (version.startsWith('upload:')) {
          add('format')
          continue
        }
        const one = await objects.read(key, mostRead, version)
        if (!one) continue
        if (!one.bytes) add('large')
        const value = one.bytes && readable(one.bytes)
        if (value?.form === 'binary') add('binary')
        await visit({
          id: `object:${labelOf(key)}`,
          texts: [key, one.described.join('\n'), value?.text ?? ''],
          writtenAt: async () => at,
          itemsOf: (projects, tx) => itemsOf(ports, key, projects, tx),
        })
      }
    }
    return { next: keys.length < keysAtOnce ? null : (keys.at(-1) ?? null), unread }
  }
