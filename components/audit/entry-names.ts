import { useMessages, useTranslations } from 'next-intl'
import { isRevocation } from '#lib/domains/audit/rules.ts'
import type { AuditEntry } from './audit-pages.ts'

const job = 'system:'

/** The titles of resource types by type. */
export const useResourceTypes = (): Readonly<Partial<Record<string, string>>> => useMessages().audit.types

/** The action, and names of the actor and the resource of an entry. Deleted people and agents have only their id. */
export function useEntryNames() {
  const t = useTranslations('audit')
  const types = useResourceTypes()
  return ({ action, agentId, actorName, resourceType, resourceId, resourceName, details }: AuditEntry) => ({
    action: t(`actions.${isRevocation(resourceType, details) ? 'revoke' : action}`),
    actor: actorName ?? (agentId.startsWith(job) ? t('system', { job: agentId.slice(job.length) }) : agentId),
    isActorNamed: actorName !== null || agentId.startsWith(job),
    type: types[resourceType] ?? resourceType,
    resource: resourceName ?? resourceId,
  })
}
