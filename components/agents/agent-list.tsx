'use client'

import { useTranslations } from 'next-intl'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { Time } from '#components/ui/time.tsx'
import { RequestRefused } from '#lib/client/request.ts'
import { type OwnAgents, useOwnAgents } from './agents.ts'

export function AgentList({ initial }: { initial: OwnAgents }) {
  const t = useTranslations('agents')
  const agents = useOwnAgents(initial)
  const hidden = agents.data.total - agents.data.data.length
  return (
    <div className="grid gap-3">
      {agents.error instanceof RequestRefused && <ProblemAlert problem={agents.error.problem} />}
      {agents.data.data.length === 0 ? (
        <p className="rounded-box border border-dashed border-edge px-4 py-5 text-quiet">{t('none')}</p>
      ) : (
        <ul aria-label={t('list')} className="divide-y divide-line rounded-box border border-line bg-raised">
          {agents.data.data.map((agent) => (
            <li key={agent.agent_id} className="grid gap-0.5 px-4 py-3">
              <p className="font-medium [overflow-wrap:anywhere]">
                {agent.name ?? t('unnamed')}
                <span className="font-normal text-quiet"> · {t('tier', { tier: agent.tier })}</span>
                {agent.restricted_at && <span className="font-normal text-amber"> · {t('restricted')}</span>}
              </p>
              <p className="flex flex-wrap items-center gap-x-3 text-sm text-quiet">
                <ShortId id={agent.agent_id} what={t('id')} />
                <span>{t.rich('since', { time: () => <Time at={agent.created_at} /> })}</span>
              </p>
            </li>
          ))}
        </ul>
      )}
      {hidden > 0 && <p className="text-sm text-quiet">{t('more', { count: hidden })}</p>}
    </div>
  )
}
