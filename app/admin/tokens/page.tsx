import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import type { SearchParams } from 'nuqs/server'
import { Words } from '#components/frame/words.tsx'
import { AgentList } from '#components/tiers/agent-list.tsx'
import { loadFilters, queryOf } from '#components/tiers/filters.ts'
import { InviteDialog } from '#components/tiers/invite-dialog.tsx'
import { PrefixDialog } from '#components/tiers/prefix-dialog.tsx'
import { ReadingSwitch } from '#components/tiers/reading-switch.tsx'
import { RevocationList } from '#components/tiers/revocation-list.tsx'
import { Facts } from '#components/ui/facts.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { tierLimits } from '#lib/domains/tokens/tier-rules.ts'
import { ask, opened } from '../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('tiers'))('name') })

export default async function TiersPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  await opened('tiers')
  const filters = await loadFilters(searchParams)
  const [t, summary, agents, revocations, settings] = await Promise.all([
    getTranslations('tiers'),
    ask(app.tiers.summary),
    ask(app.tiers.agents, { query: queryOf(filters) }),
    ask(app.tiers.revocations, { query: { limit: '20' } }),
    ask(app.settings.read),
  ])
  const { active_tokens, agents_with_tokens, auto_revoked_7d, use_24h } = summary.data
  const isOn = settings.data.anonymous_reading
  return (
    <Words of={['tiers']}>
      <Page
        width="wide"
        title={t('title', { tokens: active_tokens, agents: agents_with_tokens, revoked: auto_revoked_7d })}
        lead={
          <>
            <p>{t('lead', use_24h)}</p>
            <p className="text-sm">{t('counted')}</p>
          </>
        }
      >
        <div className="flex flex-wrap items-center gap-3">
          <InviteDialog />
          <PrefixDialog />
        </div>
        <Section id="agents" title={t('agents.title')} lead={t('agents.lead')}>
          <AgentList initial={agents} asked={filters} />
        </Section>
        <Section id="revocations" title={t('revocations.title')} lead={t('revocations.lead')}>
          <RevocationList initial={revocations} />
        </Section>
        <Section id="settings" title={t('settings.title')}>
          <Facts
            facts={[
              [
                t('settings.reading'),
                <div key="reading" className="grid max-w-prose justify-items-start gap-2">
                  <p>
                    {isOn ? t('settings.readingOn', { reads: tierLimits.anonymous.reads }) : t('settings.readingOff')}
                  </p>
                  <ReadingSwitch isOn={isOn} />
                </div>,
              ],
              [
                t('settings.registration'),
                <div key="registration" className="grid max-w-prose gap-1">
                  <p>{t(`settings.${app.env.KP_REGISTRATION}`)}</p>
                  <p className="text-sm text-quiet">{t('settings.environment')}</p>
                </div>,
              ],
            ]}
          />
        </Section>
      </Page>
    </Words>
  )
}
