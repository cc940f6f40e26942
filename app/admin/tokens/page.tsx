import type { Metadata } from 'next'
import { getFormatter, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { AgentTierList } from '#components/tiers/agent-list.tsx'
import { loadTierFilters, tierQueryOf } from '#components/tiers/filters.ts'
import { InstallationSettings } from '#components/tiers/installation-settings.tsx'
import { InviteDialog } from '#components/tiers/invite-dialog.tsx'
import { PrefixDialog } from '#components/tiers/prefix-dialog.tsx'
import { RevocationList } from '#components/tiers/revocation-list.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('tiers'))('name') })

export default async function TiersPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  await requirePageAccess('tiers')
  const filters = await loadTierFilters(searchParams)
  const [t, format, summary, agents, revocations, settings] = await Promise.all([
    getTranslations('tiers'),
    getFormatter(),
    callUseCase(app.tiers.summary),
    callUseCase(app.tiers.agents, { query: tierQueryOf(filters) }),
    callUseCase(app.tiers.revocations, { query: { limit: '20' } }),
    callUseCase(app.settings.read),
  ])
  const { active_tokens, agents_with_tokens, auto_revoked_7d, use_24h } = summary.data
  const { reads, writes, refused } = use_24h
  return (
    <Messages of={['tiers', 'tokens']}>
      <Page
        width="wide"
        title={t('name')}
        actions={
          <>
            <PrefixDialog />
            <InviteDialog />
          </>
        }
      >
        <StatTiles
          tiles={[
            {
              label: t('tiles.active'),
              value: format.number(active_tokens),
              hint: t('tiles.ofAgents', { agents: agents_with_tokens }),
            },
            {
              label: t('tiles.requests'),
              value: format.number(reads + writes),
              hint: t('tiles.readsWrites', { reads, writes }),
            },
            {
              label: t('tiles.refused'),
              value: format.number(refused),
              ...(refused > 0 && { tone: 'warning' as const }),
            },
            { label: t('tiles.revoked'), value: format.number(auto_revoked_7d), href: '#revocations' },
          ]}
        />
        <Section id="agents" title={t('agents.title')}>
          <AgentTierList initial={agents} initialFilters={filters} />
        </Section>
        <Section id="revocations" title={t('revocations.title')} lead={t('revocations.lead')}>
          <RevocationList initial={revocations} />
        </Section>
        <Section id="settings" title={t('settings.title')}>
          <InstallationSettings
            isReadingOpen={settings.data.anonymous_reading}
            registration={app.env.KP_REGISTRATION}
          />
        </Section>
      </Page>
    </Messages>
  )
}
