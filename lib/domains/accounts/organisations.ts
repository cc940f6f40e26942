import { type Approvable, approvable, type RequireApproval } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { assignNamespaces, readNamespace } from './contract.ts'
import { lockNamespaces, namespacesOf } from './repository.ts'

const noOrganisation = (): Problem => new Problem('not_found', 'There is no such organization.')
/** Prefixes of the registry's own ids, which an assigned prefix must not cover. */
const ownHeads = ['org_', 'prj_', 'conv_', 'msg_', 'doc_']
const overlap = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one)

async function viewOf(tx: Transaction, id: string | undefined) {
  const [row] = await namespacesOf(tx, { id: id ?? null })
  if (!row) throw noOrganisation()
  return { organisation_id: row.id, prefix: `${row.id}_`, namespaces: row.namespaces, is_any: row.is_any }
}

/** Use cases for the ids in connected stores that an organization may claim. */
export const storeNamespaces = (db: Database, { requireApproval }: { requireApproval: RequireApproval }) => ({
  namespace: read(readNamespace, async ({ actor }) => ({
    resourceId: actor.organisationId ?? 'nobody',
    body: { data: await viewOf(db.prisma, actor.organisationId) },
  })),

  assignNamespaces: mutation(assignNamespaces, async (ctx, { params: { id }, body }) => {
    const { tx } = ctx
    await requireApproval(ctx, { operation: assignNamespaces, input: { params: { id }, body } })
    await lockNamespaces(tx, {})
    const namespaces = [...new Set(body.namespaces)].sort()
    const prefixes = namespaces.filter((one) => one !== '*')
    if (prefixes.some((one) => ownHeads.some((head) => overlap(one, head))))
      throw new Problem('conflict', 'One of these prefixes is reserved for ids of the registry. Nothing was changed.')
    const others = await tx.organisation.findMany({
      where: { id: { not: id }, NOT: { storeNamespaces: { isEmpty: true } } },
      select: { storeNamespaces: true },
    })
    const taken = others.flatMap(({ storeNamespaces: theirs }) => theirs).filter((one) => one !== '*')
    if (prefixes.some((one) => taken.some((other) => overlap(one, other))))
      throw new Problem('conflict', 'Another organization has a prefix that overlaps with these. Nothing was changed.')
    const { count } = await tx.organisation.updateMany({ where: { id }, data: { storeNamespaces: namespaces } })
    if (count === 0) throw noOrganisation()
    return { resourceId: id, body: { data: await viewOf(tx, id) }, details: { namespaces: namespaces.length } }
  }),
})

/** With the prefix of another organization's ids in shared stores, an organization can claim and erase them. */
export const namespaceApprovable: Approvable = approvable(
  assignNamespaces,
  async (tx, { params: { id }, body: { namespaces } }) => {
    const row = await tx.organisation.findUnique({ where: { id }, select: { storeNamespaces: true } })
    if (!row) throw noOrganisation()
    return {
      facts: {
        organization: id,
        prefixes_now: row.storeNamespaces.join(', ') || '–',
        prefixes_next: [...new Set(namespaces)].sort().join(', ') || '–',
      },
    }
  },
)
