import type { Metadata } from 'next'
import { getFormatter, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { OwnAgentList } from '#components/agents/agent-list.tsx'
import { ClaimForm } from '#components/agents/claim-form.tsx'
import { CreateAgentForm } from '#components/agents/create-form.tsx'
import { Messages } from '#components/frame/words.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('agents'))('name') })

export default async function AgentsPage() {
  await requirePageAccess('agents')
  const [t, format, agents, notice] = await Promise.all([
    getTranslations('agents'),
    getFormatter(),
    callUseCase(app.agents.listOwn, { query: { limit: '100' } }),
    callUseCase(app.agents.readNotice),
  ])
  return (
    <Messages of={['agents', 'claim', 'tokens']}>
      <Page
        title={t('name')}
        count={agents.total > 0 ? format.number(agents.total) : undefined}
        width="wide"
        actions={<ButtonLink href="#create">{t('create.title')}</ButtonLink>}
      >
        <OwnAgentList initial={agents} />
        <div className="grid items-start gap-6 lg:grid-cols-2">
          <Section id="create" title={t('create.title')} lead={t('create.lead')}>
            <CreateAgentForm
              notice={notice.data}
              regions={app.regions.choosable}
              origin={new URL(notice.data.url).origin}
              ancestors={agents.data
                .filter(({ status }) => status !== 'dead')
                .map(({ agent_id, name }) => ({ id: agent_id, name }))}
            />
          </Section>
          <Section id="claim" title={t('claimTitle')}>
            <ClaimForm />
          </Section>
        </div>
      </Page>
    </Messages>
  )
}
