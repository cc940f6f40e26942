import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { AgentExport } from '#components/privacy/agent-export.tsx'
import { AgentSelect } from '#components/privacy/agent-filter.tsx'
import { PrivacyConsentPanel } from '#components/privacy/consent-panel.tsx'
import { CorrectForm } from '#components/privacy/correct-form.tsx'
import { ExportDesk } from '#components/privacy/export-desk.tsx'
import { sortedHoldings } from '#components/privacy/inventory-rules.ts'
import { OpenPrivacyRequests } from '#components/privacy/open-requests.tsx'
import { Participations } from '#components/privacy/participations.tsx'
import { RestrictionPanel } from '#components/privacy/restriction-panel.tsx'
import { StatementForm } from '#components/privacy/statement-form.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/config/env.ts'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { identityOf } from './identity.ts'
import { InventoryOverview } from './inventory-overview.tsx'
import { agentIn, callForOwnAgent, loadOwnAgents, type OwnAgentOption } from './own-agents.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('pages'))('privacy') })

const groundOf = { consent: 'a', contract: 'b', legitimate_interest: 'f' } as const
const mostOpen = 5

export default async function PrivacyPage({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[]>>
}) {
  const person = await requirePageAccess('privacy')
  const agentId = agentIn((await searchParams).agent)
  const query = agentId === undefined ? {} : { agent_id: agentId }
  const [t, words, { agents, total }, inventory, exported, requests, standing, ofAll, participations] =
    await Promise.all([
      getTranslations('myPrivacy'),
      getTranslations('inventory'),
      loadOwnAgents(),
      callForOwnAgent(app.exports.readInventory, { query }),
      callUseCase(app.exports.listExports),
      callUseCase(app.requests.list, { query: { open: 'true', limit: String(mostOpen) } }),
      callForOwnAgent(app.agents.readRestriction, { query }),
      callUseCase(app.agents.readRestriction),
      callUseCase(app.projects.participations),
    ])
  const listed = agents.find(({ id }) => id === agentId)
  const agent: OwnAgentOption | undefined =
    agentId === undefined ? undefined : (listed ?? { id: agentId, name: agentId })
  const identity = identityOf(person)
  const deleteAt = `/settings/privacy/delete${agent ? `?agent=${encodeURIComponent(agent.id)}` : ''}`
  const counts = { records: inventory.total, stores: sortedHoldings(inventory.data).stores }
  const basis = readEnv().KP_LAWFUL_BASIS
  const name = agent?.name ?? ''
  return (
    <Messages of={['myPrivacy', 'inventory', 'exports', 'deletion']}>
      <Page
        title={agent ? words('titleAgent', { ...counts, agent: name }) : words('title', counts)}
        lead={<p>{words('lead')}</p>}
        width="wide"
      >
        <div className="grid gap-4">
          <nav aria-label={t('jump.label')} className="flex flex-wrap gap-2">
            {(['download', 'correct', 'restrict'] as const).map((action) => (
              <ButtonLink key={action} href={`#${action}`} tone="plain">
                {t(`jump.${action}`)}
              </ButtonLink>
            ))}
            <ButtonLink href={deleteAt} tone="danger" className="sm:ml-auto">
              {t(agent ? 'jump.deleteAgent' : 'jump.delete')}
            </ButtonLink>
          </nav>
          {agents.length > 0 && <AgentSelect agents={agent && !listed ? [agent, ...agents] : agents} />}
          {total > agents.length && <p className="text-sm text-quiet">{words('notAll', { count: agents.length })}</p>}
        </div>

        <InventoryOverview inventory={inventory} isOfAgent={agent !== undefined} />

        <Section
          id="requests"
          title={t('requests.title')}
          lead={requests.total > 0 ? t('requests.lead', { count: requests.total }) : t('requests.none')}
        >
          <OpenPrivacyRequests requests={requests.data} more={requests.total - requests.data.length} />
        </Section>

        {!agent && participations.data.length > 0 && (
          <Section id="participations" title={t('participations.title')} lead={t('participations.lead')}>
            <Participations initial={participations} />
          </Section>
        )}

        <Section id="download" title={t('download.title')} lead={t('download.lead')}>
          {agent ? <AgentExport agent={agent} /> : <ExportDesk initial={exported} />}
        </Section>

        <Section id="correct" title={t('correct.title')} lead={t('correct.lead')}>
          {!agent && (
            <CorrectForm
              key={`${person.name} ${person.email} ${person.locale}`}
              account={{ name: person.name, email: person.email, locale: person.locale }}
              identity={identity}
            />
          )}
          <p>
            {t.rich('correct.units', {
              link: (text) => (
                <TextLink href={agent ? `/knowledge?agent=${encodeURIComponent(agent.id)}` : '/knowledge'}>
                  {text}
                </TextLink>
              ),
            })}
          </p>
          <div className="grid gap-4">
            <div className="grid gap-1">
              <h3 className="font-medium">{t('correct.words')}</h3>
              <p className="text-quiet">{t('correct.wordsLead')}</p>
            </div>
            <StatementForm key={`correct ${agentId ?? ''}`} about="correct" agentId={agentId} identity={identity} />
          </div>
        </Section>

        <Section
          id="restrict"
          title={t('restrict.title')}
          lead={agent ? t('restrict.leadAgent', { agent: name }) : t('restrict.lead')}
        >
          <RestrictionPanel
            key={agentId ?? ''}
            initial={standing}
            agent={agent}
            isOfAll={agent !== undefined && ofAll.data.restricted_for.includes('request')}
          />
        </Section>

        <Section id="consent" title={t('consent.title')} lead={t('consent.lead')}>
          <PrivacyConsentPanel
            key={agentId ?? ''}
            agent={agent}
            agents={standing.data.agents}
            withdrawn={standing.data.withdrawn_agents}
            noticeVersion={noticeVersion}
            otherBasis={basis === 'consent' ? undefined : words(`bases.${groundOf[basis]}`)}
          />
        </Section>

        <Section id="object" title={t('object.title')} lead={t('object.lead')}>
          <StatementForm key={`object ${agentId ?? ''}`} about="object" agentId={agentId} identity={identity} />
          <p className="text-sm text-quiet">
            {t.rich('object.telemetry', { link: (text) => <TextLink href="/telemetry">{text}</TextLink> })}
          </p>
        </Section>

        <Section
          id="delete"
          title={agent ? t('erase.titleAgent', { agent: name }) : t('erase.title')}
          lead={t('erase.lead')}
        >
          <ButtonLink href={deleteAt} tone="danger" className="justify-self-start">
            {t(agent ? 'erase.buttonAgent' : 'erase.button')}
          </ButtonLink>
        </Section>
      </Page>
    </Messages>
  )
}
