import type { App } from './app.ts'
import type { KeyState } from './domains/erasure/suppression-keys.ts'

export interface InstallationKey {
  kind: 'signing' | 'suppression'
  id: string
  createdAt: Date
  retiredAt: Date | null
  /** Sealed with a secret that this installation does not have. */
  isLost: boolean
}

/** The keys of an installation, by the operator's own hand. Everything is audited as `system:admin.<what>`. */
export function operatorKeys({ gate, signer, suppressionKeys }: App) {
  const rotated = (what: 'signing' | 'suppression' | 'installation', resourceType: string, resourceId: string) =>
    gate.transaction((tx) =>
      gate.auditWithin(tx, {
        ...{
          actorId: `system:admin.rotate-${what}-key`,
          action: 'update',
          resourceType,
          resourceId,
          ip: '',
          details: {},
        },
        at: gate.clock.now(),
      }),
    )
  const stateOf = ({ id, createdAt, retiredAt, isLost }: KeyState): Omit<InstallationKey, 'kind'> => ({
    ...{ id, createdAt, retiredAt, isLost },
  })

  return {
    /** Those that sign receipts, then those that remember the erased; newest first. */
    async list(): Promise<InstallationKey[]> {
      const signing = await signer.list()
      const suppression = await suppressionKeys.list()
      return [
        ...signing.map(({ kid, ...key }) => ({ kind: 'signing' as const, ...stateOf({ id: kid, ...key }) })),
        ...suppression.map((key) => ({ kind: 'suppression' as const, ...stateOf(key) })),
      ]
    },
    /** Receipts are signed with a new key from now on, by running processes within a minute; the old key stays published. */
    async rotateSigning(): Promise<string> {
      const kid = await signer.rotate(gate.clock.now())
      await rotated('signing', 'signing-key', kid)
      return kid
    },
    /** Who is erased from now on is remembered under a new key, by running processes within a minute; the old ones go on matching. */
    async rotateSuppression(): Promise<string> {
      const id = await suppressionKeys.rotate(gate.clock.now())
      await rotated('suppression', 'suppression-key', id)
      return id
    },
    /** The entry of a rotation that was carried out while nothing ran. */
    noteInstallation: () => rotated('installation', 'installation-secret', 'installation'),
  }
}
