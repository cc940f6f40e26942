import { useMessages, useTranslations } from 'next-intl'
import type { AuditEntry } from './audit-pages.ts'

const job = 'system:'

/** The titles of resource types by type. */
export const useResourceTypes = (): Readonly<Partial<Record<string, string>>> => useMessages().audit.types

/** Names of the actor and the resource of an entry. Deleted people and agents have only their id. */
export function useEntryNames() {
  const t = useTranslations('audit')
  const types = useResourceTypes()
  return ({ agentId, actorName, resourceType, resourceId, resourceName }: AuditEntry) => ({
    actor: actorName ?? (agentId.startsWith(job) ? t('system', { job: agentId.slice(job.length) }) : agentId),
    isActorNamed: actorName !== null || agentId.startsWith(job),
    type: types[resourceType] ?? resourceType,
    resource: resourceName ?? resourceId,
  })
}
