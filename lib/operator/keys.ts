import type { App } from '#lib/app.ts'
import type { KeyState } from '#lib/domains/erasure/suppression/suppressions.ts'

export interface InstallationKey {
  kind: 'signing' | 'suppression'
  id: string
  createdAt: Date
  retiredAt: Date | null
  /** Sealed with a secret that this installation does not have. */
  isLost: boolean
}

/** Key management by the operator. Everything is audited as `system:admin.<what>`. */
export function operatorKeys({ pipeline, signer, suppressionKeys }: App) {
  const rotated = (what: 'signing' | 'suppression' | 'installation', resourceType: string, resourceId: string) =>
    pipeline.transaction((tx) =>
      pipeline.auditWithin(tx, {
        actorId: `system:admin.rotate-${what}-key`,
        action: 'update',
        resourceType,
        resourceId,
        ip: '',
        details: {},
        at: pipeline.clock.now(),
      }),
    )
  const stateOf = ({ id, createdAt, retiredAt, isLost }: KeyState): Omit<InstallationKey, 'kind'> => ({
    id,
    createdAt,
    retiredAt,
    isLost,
  })

  return {
    /** The keys that sign receipts, then the keys of the suppression list; newest first. */
    async list(): Promise<InstallationKey[]> {
      const signing = await signer.list()
      const suppression = await suppressionKeys.list()
      return [
        ...signing.map(({ kid, ...key }) => ({ kind: 'signing' as const, ...stateOf({ id: kid, ...key }) })),
        ...suppression.map((key) => ({ kind: 'suppression' as const, ...stateOf(key) })),
      ]
    },
    /** Creates a key that signs receipts from now on; running processes use it within a minute. The old key stays published. */
    async rotateSigning(): Promise<string> {
      const kid = await signer.rotate(pipeline.clock.now())
      await rotated('signing', 'signing-key', kid)
      return kid
    },
    /** Creates a key for future suppression list entries; running processes use it within a minute. The old keys still match. */
    async rotateSuppression(): Promise<string> {
      const id = await suppressionKeys.rotate(pipeline.clock.now())
      await rotated('suppression', 'suppression-key', id)
      return id
    },
    /** Audits a rotation that was done while nothing was running. */
    noteInstallation: () => rotated('installation', 'installation-secret', 'installation'),
  }
}
