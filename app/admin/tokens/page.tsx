import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import type { SearchParams } from 'nuqs/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { AgentTierList } from '#components/tiers/agent-list.tsx'
import { loadTierFilters, tierQueryOf } from '#components/tiers/filters.ts'
import { InviteDialog } from '#components/tiers/invite-dialog.tsx'
import { PrefixDialog } from '#components/tiers/prefix-dialog.tsx'
import { ReadingSwitch } from '#components/tiers/reading-switch.tsx'
import { RevocationList } from '#components/tiers/revocation-list.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { tierLimits } from '#lib/domains/tokens/tier-rules.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('tiers'))('name') })

export default async function TiersPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  await requirePageAccess('tiers')
  const filters = await loadTierFilters(searchParams)
  const [t, summary, agents, revocations, settings] = await Promise.all([
    getTranslations('tiers'),
    callUseCase(app.tiers.summary),
    callUseCase(app.tiers.agents, { query: tierQueryOf(filters) }),
    callUseCase(app.tiers.revocations, { query: { limit: '20' } }),
    callUseCase(app.settings.read),
  ])
  const { active_tokens, agents_with_tokens, auto_revoked_7d, use_24h } = summary.data
  const isOn = settings.data.anonymous_reading
  return (
    <Messages of={['tiers']}>
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
          <AgentTierList initial={agents} initialFilters={filters} />
        </Section>
        <Section id="revocations" title={t('revocations.title')} lead={t('revocations.lead')}>
          <RevocationList initial={revocations} />
        </Section>
        <Section id="settings" title={t('settings.title')}>
          <FactList
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
    </Messages>
  )
}
