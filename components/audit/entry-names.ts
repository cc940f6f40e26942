import { useTranslations } from 'next-intl'
import type { AuditEntry } from './audit-pages.ts'

const job = 'system:'

/** Names of the actor and the resource of an entry. Deleted people and agents have only their id. */
export function useEntryNames() {
  const t = useTranslations('audit')
  return ({ agentId, actorName, resourceId, resourceName }: AuditEntry) => ({
    actor: actorName ?? (agentId.startsWith(job) ? t('system', { job: agentId.slice(job.length) }) : agentId),
    isActorNamed: actorName !== null || agentId.startsWith(job),
    resource: resourceName ?? resourceId,
  })
}
