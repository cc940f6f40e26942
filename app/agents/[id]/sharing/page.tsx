import type { Metadata } from 'next'
import { getFormatter, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { agentTitle } from '#components/agents/names.ts'
import { type Preview, sharesPerPage, sharingHindranceOf, sharingPage } from '#components/clades/clades.ts'
import { EntryChoice } from '#components/clades/entry-choice.tsx'
import { shareableOf } from '#components/clades/entry-excerpt.ts'
import { ReceivedList } from '#components/clades/received-list.tsx'
import { ShareList } from '#components/clades/share-list.tsx'
import { SharePreview } from '#components/clades/share-preview.tsx'
import { SharingSwitch } from '#components/clades/sharing-switch.tsx'
import { SiblingTable } from '#components/clades/sibling-table.tsx'
import { countText } from '#components/frame/count-text.ts'
import { Alert } from '#components/ui/alert.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
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
  const [t, common, format, { data: clade }, shares, entries, received, preview] = await Promise.all([
    getTranslations('agentSharing'),
    getTranslations('common'),
    getFormatter(),
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
  const already = entry !== undefined && shares.data.find((one) => one.entry_id === entry && one.recalled_at === null)
  const counts = { siblings: siblings.length, shares: shares.total }
  const name = agentTitle(agent)
  const isAlone = siblings.length === 0
  const isRetired = agent.status === 'dead'
  const title = isRetired ? 'titleDead' : isAlone ? 'titleAlone' : since === null ? 'titleOff' : 'titleOn'
  // A paused agent can still switch sharing off. A retired agent has left its siblings, and a restricted agent shares nothing.
  const maySwitch = hindrance === undefined || hindrance === 'off' || (hindrance === 'paused' && since !== null)
  const place = sharingPage(id)
  return (
    <AgentPageFrame
      agent={agent}
      view="agentSharing"
      words={['agentSharing']}
      title={t(title, { name, ...counts })}
      lead={<p>{t('lead')}</p>}
    >
      {hindrance !== undefined && hindrance !== 'off' && hindrance !== 'alone' && (
        <Alert tone="warning" title={t(`hindrances.${hindrance}.title`)}>
          <p>{t(`hindrances.${hindrance}.text`)}</p>
        </Alert>
      )}
      {!isRetired && (
        <Section id="siblings" title={t('siblings.title')} lead={isAlone ? undefined : t('siblings.lead')}>
          {isAlone ? (
            <Empty title={t('siblings.noneTitle')}>
              <p>{t('siblings.none')}</p>
              <CodeBlock code={`kp agent create --ancestor ${id} --as ${email}`} what={t('siblings.command')} />
            </Empty>
          ) : (
            <SiblingTable siblings={siblings} />
          )}
        </Section>
      )}
      {!isAlone && maySwitch && (
        <Section id="switch" title={t('switch.title')} lead={t('switch.lead')}>
          <SharingSwitch agentId={id} since={since} siblings={siblings.length} waiting={waiting} />
        </Section>
      )}
      {preview !== undefined && entry !== undefined && (
        <Section id="preview" title={t('preview.title')} lead={t('preview.lead')}>
          {typeof preview === 'string' ? (
            <Alert tone="warning" title={t(`preview.${preview}.title`)}>
              <p>{t(`preview.${preview}.text`)}</p>
              {preview === 'private' && (
                <CodeBlock code={`kp clade share ${entry} --agent ${id}`} what={t('entries.command')} />
              )}
            </Alert>
          ) : (
            <>
              {already && (
                <p>
                  {t.rich('preview.already', {
                    link: (text) => <TextLink href={sharingPage(id, { share: already.share_id })}>{text}</TextLink>,
                  })}
                </p>
              )}
              <SharePreview
                key={entry}
                agentId={id}
                entryId={entry}
                preview={preview}
                siblings={siblings}
                isHindered={hindrance !== undefined}
              />
              {hindrance === 'off' && <p className="text-quiet">{t('preview.off')}</p>}
              {hindrance === 'alone' && <p className="text-quiet">{t('preview.alone')}</p>}
            </>
          )}
        </Section>
      )}
      {!isRetired && (
        <Section id="entries" title={t('entries.title')} lead={t('entries.lead')}>
          {rows.length === 0 && older === undefined ? (
            <Empty title={t('entries.noneTitle')}>
              <p>{t('entries.none')}</p>
            </Empty>
          ) : (
            <EntryChoice agentId={id} rows={rows} />
          )}
          {(older !== undefined || entries.next_cursor !== null) && (
            <p className="flex flex-wrap gap-x-4 gap-y-1">
              {older !== undefined && <TextLink href={`${place}#entries`}>{t('entries.newest')}</TextLink>}
              {entries.next_cursor !== null && (
                <TextLink href={`${place}?older=${encodeURIComponent(entries.next_cursor)}#entries`}>
                  {t('entries.older')}
                </TextLink>
              )}
            </p>
          )}
          <p className="text-quiet">{t('entries.private')}</p>
          <CodeBlock
            code={`kp clade preview <entry> --agent ${id}\nkp clade share <entry> --agent ${id}`}
            what={t('entries.command')}
          />
        </Section>
      )}
      <Section
        id="shares"
        title={t('shares.title')}
        lead={t('shares.lead', { count: shares.total, shown: countText(common, shares.total, { isFirst: true }) })}
      >
        <ShareList agentId={id} initial={shares} names={names} mayRecall={role !== 'auditor'} />
      </Section>
      <Section id="received" title={t('received.title')} lead={t('received.lead')}>
        {clade.pending > 0 && (
          <div className="grid gap-2">
            <p>{t('received.pending', { count: clade.pending, shown: format.number(clade.pending) })}</p>
            <CodeBlock code={`kp clade pending --agent ${id}`} what={t('received.command')} />
          </div>
        )}
        {received.data.length > 0 ? (
          <ReceivedList rows={received.data} names={names} />
        ) : (
          <p className="text-quiet">{t(after === '0' ? 'received.none' : 'received.noMore')}</p>
        )}
        {(after !== '0' || received.data.length === sharesPerPage) && (
          <p className="flex flex-wrap gap-x-4 gap-y-1">
            {after !== '0' && <TextLink href={`${place}#received`}>{t('received.first')}</TextLink>}
            {received.data.length === sharesPerPage && (
              <TextLink href={`${place}?after=${received.next_after}#received`}>{t('received.next')}</TextLink>
            )}
          </p>
        )}
      </Section>
    </AgentPageFrame>
  )
}
