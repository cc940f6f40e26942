import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { SkillCorrection, UnitCorrection } from '#components/knowledge/correction-form.tsx'
import {
  fileNameOf,
  recordDocument,
  recordKindOf,
  recordPage,
  type SkillRecord,
  type UnitRecord,
} from '#components/knowledge/knowledge.ts'
import { RecordActions } from '#components/knowledge/record-actions.tsx'
import { RecordStatus } from '#components/knowledge/record-status.tsx'
import { SkillContent } from '#components/knowledge/skill-content.tsx'
import { UnitContent } from '#components/knowledge/unit-content.tsx'
import { GoneNotice } from '#components/receipts/gone-notice.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { PlainLink, TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { periodsOf } from '#lib/domains/retention/rules.ts'
import { recordNamed } from './record.ts'

interface RecordPageProps {
  params: Promise<{ id: string }>
  searchParams: Promise<Record<string, string | string[] | undefined>>
}

// The title is generic so that the record's name does not enter the browser history.
export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('knowledge.unit'))('name'),
})

/** The maximum number of characters of a title in the heading; the page shows a longer title in full below. */
const headingLength = 160
const titleOf = (record: UnitRecord | SkillRecord): string => {
  if (!('unit' in record)) return record.name
  const { unit } = record
  return unit['@type'] === 'ReasoningTrace' ? unit.task.objective : unit.name
}
const shortened = (text: string): string =>
  text.length > headingLength ? `${text.slice(0, headingLength).trimEnd()}…` : text

export default async function RecordPage({ params, searchParams }: RecordPageProps) {
  await requirePageAccess('unit')
  const shown = await recordNamed((await params).id)
  if ('gone' in shown) return <GoneNotice receiptId={shown.gone} />
  const record = 'unit' in shown ? shown.unit : shown.skill
  const isCorrecting = record.is_own && (await searchParams).correct !== undefined
  const [t, words, policy, agentName] = await Promise.all([
    getTranslations('knowledge.unit'),
    getTranslations('knowledge'),
    app.retention.policyNow(),
    record.is_own
      ? callUseCase(app.agents.readOwn, { params: { id: record.agent_id } }).then(({ data }) => data.name)
      : Promise.resolve(null),
  ])
  const whose = record.is_own ? (agentName ?? record.agent_id) : t('of')
  return (
    <Messages of={['knowledge']}>
      <Page
        title={<bdi>{shortened(titleOf(record))}</bdi>}
        lead={
          <>
            <p>
              {t.rich('lead', {
                kind: words(`kinds.${recordKindOf(record.id)}`),
                time: () => <Time at={record.created_at} />,
                agent: () => <bdi>{whose}</bdi>,
                who: words(`visibility.${record.visibility}.${record.is_own ? 'short' : 'ofOther'}`),
              })}
            </p>
            <p>
              <TextLink href={isCorrecting ? recordPage(record.id) : '/knowledge'}>
                {isCorrecting ? words('correct.back') : t('back')}
              </TextLink>
            </p>
          </>
        }
      >
        {record.quarantined_at && record.is_own && (
          <Alert tone="warning" title={t('held')}>
            <p>{t('heldText')}</p>
          </Alert>
        )}
        {record.is_paused && record.is_own && (
          <Alert tone="warning" title={t('paused')}>
            <p>{t('pausedText')}</p>
          </Alert>
        )}
        {!record.is_own && <Alert title={t('foreign')} />}
        {isCorrecting ? (
          <Section id="correct" title={words('correct.title')}>
            {'unit' in shown ? <UnitCorrection initial={shown.unit} /> : <SkillCorrection initial={shown.skill} />}
          </Section>
        ) : (
          <>
            <RecordActions
              id={record.id}
              etag={record.etag}
              isOwn={record.is_own}
              visibility={record.visibility}
              wasPublic={record.was_public}
              periods={periodsOf(policy)}
            />
            <Section id="says" title={t('content')}>
              {'unit' in shown ? <UnitContent unit={shown.unit.unit} /> : <SkillContent skill={shown.skill} />}
            </Section>
            <Section id="standing" title={t('standing')}>
              <RecordStatus record={record} agentName={agentName} />
            </Section>
            {'unit' in shown && (
              <Section id="raw" title={t('raw')}>
                <details>
                  <summary className="w-fit cursor-pointer text-accent">{t('showRaw')}</summary>
                  <div className="mt-3 grid gap-2">
                    <CodeBlock code={JSON.stringify(shown.unit.unit, null, 2)} what={t('copyRaw')} />
                    <p>
                      <PlainLink href={recordDocument(record.id)} download={fileNameOf(record.id)}>
                        {t('download')}
                      </PlainLink>
                    </p>
                  </div>
                </details>
              </Section>
            )}
          </>
        )}
      </Page>
    </Messages>
  )
}
