import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { type Preview, sharesPerPage, sharingHindranceOf } from '#components/clades/clades.ts'
import { EntriesSection } from '#components/clades/entries-section.tsx'
import { shareableOf } from '#components/clades/entry-excerpt.ts'
import { PreviewSection } from '#components/clades/preview-section.tsx'
import { ReceivedSection } from '#components/clades/received-section.tsx'
import { ShareList } from '#components/clades/share-list.tsx'
import { SharingSwitch } from '#components/clades/sharing-switch.tsx'
import { SiblingsSection } from '#components/clades/siblings-section.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Section } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { AgentPageFrame, agentNamed } from '../agent-page.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('agentSharing'))('name'),
})

type PageParameters = Record<string, string | string[] | undefined>
const textOf = (value: PageParameters[string]) => (typeof value === 'string' && value !== '' ? value : undefined)
/** The sequence number in a query parameter; `0`, the start, when there is none. */
const numberOf = (value: PageParameters[string]) =>
  typeof value === 'string' && /^\d{1,15}$/.test(value) ? value : '0'

/** A preview of what sharing the entry would send; `none` when the entry does not exist, `private` when it cannot be shared. */
async function previewOf(id: string, entryId: string): Promise<Preview | 'private' | 'none'> {
  try {
    return (await callUseCase(app.clades.previewShare, { params: { id }, body: { entry_id: entryId } })).data
  } catch (error) {
    if (!Problem.is(error)) throw error
    if (error.code === 'not_found' || error.code === 'invalid') return 'none'
    if (error.code === 'conflict') return 'private'
    throw error
  }
}

/** A page of the entries that the server can read (scope `clade`); the first page when the cursor in the URL is invalid. */
async function entriesOf(id: string, cursor: string | undefined) {
  const query = { scope: 'clade', limit: '10' }
  try {
    return await callUseCase(app.grimoire.listEntries, {
      params: { id },
      query: { ...query, ...(cursor && { cursor }) },
    })
  } catch (error) {
    if (!Problem.is(error, 'invalid') || cursor === undefined) throw error
    return callUseCase(app.grimoire.listEntries, { params: { id }, query })
  }
}

interface SharingPageProps {
  params: Promise<{ id: string }>
  searchParams: Promise<PageParameters>
}

/** Sharing between sibling agents: the switch, a preview, sent and received shares, and recalling a share. */
export default async function SharingPage({ params, searchParams }: SharingPageProps) {
  const { role, email } = await requirePageAccess('agentSharing')
  const [agent, query] = await Promise.all([params.then(({ id }) => agentNamed(id)), searchParams])
  const id = agent.agent_id
  const [entry, older, after] = [textOf(query.entry), textOf(query.older), numberOf(query.after)]
  const [t, { data: clade }, shares, entries, received, preview] = await Promise.all([
    getTranslations('agentSharing'),
    callUseCase(app.clades.readClade, { params: { id } }),
    callUseCase(app.clades.listShares, { params: { id }, query: { limit: String(sharesPerPage) } }),
    entriesOf(id, older),
    callUseCase(app.clades.listReceived, { params: { id }, query: { after, limit: String(sharesPerPage) } }),
    entry === undefined ? undefined : previewOf(id, entry),
  ])
  const { siblings, sharing_since: since } = clade
  const hindrance = sharingHindranceOf(role, agent, clade)
  const names = Object.fromEntries(siblings.flatMap(({ agent_id, name }) => (name === null ? [] : [[agent_id, name]])))
  const waiting = siblings.reduce((sum, { pending }) => sum + pending, 0)
  const rows = entries.data.flatMap((one) => shareableOf(one) ?? [])
  const earlier = shares.data.find((one) => one.entry_id === entry && one.recalled_at === null)
  const isAlone = siblings.length === 0
  const isRetired = agent.status === 'dead'
  // A paused agent can still turn sharing off. A retired agent has left its siblings, and a restricted agent shares nothing.
  const maySwitch = hindrance === undefined || hindrance === 'off' || (hindrance === 'paused' && since !== null)
  return (
    <AgentPageFrame
      agent={agent}
      view="agentSharing"
      words={['agentSharing', 'sensitiveKinds']}
      lead={<p>{t('lead')}</p>}
    >
      {hindrance !== undefined && hindrance !== 'off' && hindrance !== 'alone' && (
        <Alert tone="warning" title={t(`hindrances.${hindrance}.title`)}>
          <p>{t(`hindrances.${hindrance}.text`)}</p>
        </Alert>
      )}
      {!isAlone && maySwitch && (
        <Section id="switch" title={t('name')}>
          <SharingSwitch agentId={id} since={since} siblings={siblings.length} waiting={waiting} />
        </Section>
      )}
      {!isRetired && <SiblingsSection agentId={id} email={email} siblings={siblings} />}
      {preview !== undefined && entry !== undefined && (
        <PreviewSection
          agentId={id}
          entryId={entry}
          preview={preview}
          siblings={siblings}
          hindrance={hindrance}
          earlierShare={earlier?.share_id}
        />
      )}
      {!isRetired && (
        <EntriesSection agentId={id} rows={rows} isOlder={older !== undefined} next={entries.next_cursor} />
      )}
      <Section id="shares" title={t('shares.title')}>
        <ShareList agentId={id} initial={shares} names={names} mayRecall={role !== 'auditor'} />
      </Section>
      <ReceivedSection
        agentId={id}
        rows={received.data}
        names={names}
        pending={clade.pending}
        after={Number(after)}
        nextAfter={received.next_after}
      />
    </AgentPageFrame>
  )
}
