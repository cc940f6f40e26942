import '../bin/runtime.ts'
import { newSnapshotKey, readSealedSnapshot, sealSnapshot } from '#lib/client/sealing/snapshot.ts'
import { bundleContentOf } from '#lib/domains/snapshots/content.ts'
import { fileObjects } from '#lib/stores/objects/files.ts'

/** Makes and opens snapshots of a state in a folder of objects, on request of the parent, which measures its memory. */
const objects = fileObjects(process.argv[2] ?? '')
const key = newSnapshotKey()
const about = { mediaType: 'application/octet-stream' }
const head = {
  id: 'snap_0123456789abcdefghijkl',
  agent: 'agent_1',
  kind: 'on_demand' as const,
  key_id: 'key_0123456789abcdefghijkl',
  created_at: '2026-01-02T03:04:05.000Z',
  expires_at: null,
}

const work: Record<string, (mediaType: string) => Promise<void>> = {
  make: (mediaType) => {
    const content = bundleContentOf({
      agentId: 'agent_1',
      settings: {},
      parts: [],
      until: new Date(),
      bundle: { mediaType, bytes: () => objects.get('state') },
    })
    return objects.put('snapshot', sealSnapshot(key, head, content), about)
  },
  open: async () => {
    const sealed = await objects.get('snapshot')
    if (!sealed) throw new Error('there is no snapshot')
    await objects.put('content', (await readSealedSnapshot(sealed)).open(key), about)
  },
}
process.on('message', ({ task, mediaType }: { task: string; mediaType: string }) => {
  work[task]?.(mediaType).then(
    () => process.send?.('done'),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.send?.('ready')
