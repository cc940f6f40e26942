import type { Metadata } from 'next'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { SkillCorrection, UnitCorrection } from '#components/knowledge/correction-form.tsx'
import { recordKindOf, recordPage, type SkillRecord, type UnitRecord } from '#components/knowledge/knowledge.ts'
import { RecordActions } from '#components/knowledge/record-actions.tsx'
import { RecordActivity } from '#components/knowledge/record-activity.tsx'
import { RecordStatus } from '#components/knowledge/record-status.tsx'
import { SkillContent } from '#components/knowledge/skill-content.tsx'
import { UnitContent } from '#components/knowledge/unit-content.tsx'
import { GoneNotice } from '#components/receipts/gone-notice.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Card, Page, Section } from '#components/ui/page.tsx'
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
  const { account_id: me, role } = await requirePageAccess('unit')
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
        breadcrumbs={[
          { href: '/knowledge', title: t('name') },
          ...(isCorrecting ? [{ href: recordPage(record.id), title: shortened(titleOf(record)) }] : []),
        ]}
        status={record.quarantined_at && record.is_own && <Badge tone="warning">{words('list.held')}</Badge>}
        summary={t.rich('byline', {
          kind: words(`kinds.${recordKindOf(record.id)}`),
          time: () => <Time at={record.created_at} />,
          agent: () => <bdi>{whose}</bdi>,
        })}
        actions={
          !isCorrecting && (
            <RecordActions
              id={record.id}
              etag={record.etag}
              isOwn={record.is_own}
              visibility={record.visibility}
              wasPublic={record.was_public}
              periods={periodsOf(policy)}
            />
          )
        }
        aside={
          !isCorrecting && (
            <Card title={t('standing')}>
              <RecordStatus record={record} agentName={agentName} />
            </Card>
          )
        }
      >
        <RecordNotices record={record} />
        {isCorrecting ? (
          <Section id="correct" title={words('correct.title')}>
            {'unit' in shown ? <UnitCorrection initial={shown.unit} /> : <SkillCorrection initial={shown.skill} />}
          </Section>
        ) : (
          <>
            <Section id="says" title={t('content')}>
              {record.instructions && (
                <Alert tone="warning" title={t('instructions')}>
                  <p>{t('instructionsText', { fields: record.instructions.map(({ field }) => field).join(', ') })}</p>
                </Alert>
              )}
              {'unit' in shown ? <UnitContent unit={shown.unit.unit} /> : <SkillContent skill={shown.skill} />}
            </Section>
            {'unit' in shown && <RawUnit record={shown.unit} />}
            <RecordActivity
              recordId={record.id}
              createdAt={record.created_at}
              names={{ [`user:${me}`]: words('activity.you'), ...(agentName && { [record.agent_id]: agentName }) }}
              mayAudit={role === 'admin' || role === 'auditor'}
            />
          </>
        )}
      </Page>
    </Messages>
  )
}

/** Why others cannot find the record, or that it belongs to somebody else. */
function RecordNotices({ record }: { record: UnitRecord | SkillRecord }) {
  const t = useTranslations('knowledge.unit')
  if (!record.is_own) return <Alert title={t('foreign')} />
  return (
    <>
      {record.quarantined_at && (
        <Alert tone="warning" title={t('held')}>
          <p>{t('heldText')}</p>
        </Alert>
      )}
      {record.is_paused && (
        <Alert tone="warning" title={t('paused')}>
          <p>{t('pausedText')}</p>
        </Alert>
      )}
    </>
  )
}

function RawUnit({ record }: { record: UnitRecord }) {
  const t = useTranslations('knowledge.unit')
  return (
    <Section id="raw" title={t('raw')}>
      <details>
        <summary className="w-fit cursor-pointer text-accent">{t('showRaw')}</summary>
        <div className="mt-3">
          <CodeBlock code={JSON.stringify(record.unit, null, 2)} what={t('copyRaw')} />
        </div>
      </details>
    </Section>
  )
}
