import type { Metadata } from 'next'
import { redirect } from 'next/navigation'
import { getFormatter, getLocale, getNow, getTranslations } from 'next-intl/server'
import type { z } from 'zod'
import { callUseCase, currentPerson, erasuresForFrame, requirePageAccess } from '#app/page-access.ts'
import { receiptNamed } from '#app/receipts/named.ts'
import { agentIn, callForOwnAgent, loadOwnAgents } from '#app/settings/privacy/own-agents.ts'
import { Messages } from '#components/frame/words.tsx'
import {
  agentsNotYetFiled,
  consequencesOf,
  deletionSteps,
  type FiledDeletion,
  type FiledDeletionStatus,
  filedDeletionIn,
  filedDeletionStatus,
  type Consequences as Numbers,
  type UnderReceipt,
} from '#components/privacy/deletion-rules.ts'
import { DeletionProgress, DeletionSteps, PlanTable } from '#components/privacy/deletion-steps.tsx'
import { privacyTabHref } from '#components/privacy/inventory-rules.ts'
import { Points } from '#components/privacy/notice-list.tsx'
import { RetainedList } from '#components/privacy/retained-list.tsx'
import { externalSystemsIn } from '#components/privacy/retained-rules.ts'
import { requestSayingOf, waitsForCopy } from '#components/requests/request-rules.ts'
import { RequestStatusDetail, RequestStatusText } from '#components/requests/request-status.tsx'
import { dataNamesIn } from '#components/stores/data-names.ts'
import { Alert } from '#components/ui/alert.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { punctuationOf } from '#components/ui/punctuation.ts'
import { type StatTile, StatTiles } from '#components/ui/stat-tiles.tsx'
import { Stepper } from '#components/ui/stepper.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/config/env.ts'
import { auditDays } from '#lib/domains/audit/rules.ts'
import { isPseudonymized, legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import type { planErasure, RequestDetailView, RequestView } from '#lib/domains/privacy-requests/contract.ts'
import { isClosed } from '#lib/domains/privacy-requests/rules.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { identityOf } from '../identity.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('deletion'))('name'),
  // The URL may contain the id of a receipt, and anyone with that id may read the receipt.
  robots: { index: false, follow: false },
})

/** The open erasure request for the same subject. */
async function openErasure(agentId: string | undefined): Promise<RequestView | undefined> {
  const { data } = await callUseCase(app.requests.list, { query: { open: 'true', limit: '100' } })
  return data.find(
    ({ kinds, agent_id, for_member }) =>
      kinds.includes('erasure') && !for_member && (agent_id ?? undefined) === agentId,
  )
}

async function OpenErasure({ request }: { request: RequestView }) {
  const [t, now, detail] = await Promise.all([getTranslations('deletion.open'), getNow(), detailOf(request.id)])
  const saying = requestSayingOf(detail ?? request, detail?.timeline ?? [], now)
  return (
    <Alert tone="info" title={t('title')}>
      {saying === 'received' ? (
        <p>{t('unconfirmed')}</p>
      ) : (
        <>
          <p>
            <RequestStatusText saying={saying} request={request} />
          </p>
          <RequestStatusDetail saying={saying} request={request} />
        </>
      )}
      <p>
        <TextLink href={`/settings/privacy/requests/${request.id}`}>{t('follow')}</TextLink>
      </p>
    </Alert>
  )
}

export default async function DeletionPage({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}) {
  const query = await searchParams
  const asked = filedDeletionIn(query)
  if (asked) {
    const person = await currentPerson()
    // An immediate erasure has ended the session, and a waiting one may have. The page shows the status without a session.
    const isSignedOut = asked.isAtOnce || readEnv().KP_GRACE_SIGN_IN === 'stop'
    if (!person && !isSignedOut) await requirePageAccess('deletion')
    return (
      <Messages of={['deletion', 'dataNames', 'erasurePlaces']}>
        <FiledDeletionPage
          asked={asked}
          detail={person && (await detailOf(asked.requestId))}
          agentName={person && (await agentNameIn(person.account_id, asked.requestId))}
        />
      </Messages>
    )
  }
  const person = await requirePageAccess('deletion')
  const agentId = agentIn(query.agent)
  const [t, pages, { data: plan }, exported, open, { agents }] = await Promise.all([
    getTranslations('deletion'),
    getTranslations('pages'),
    callForOwnAgent(app.requests.plan, { query: agentId === undefined ? {} : { agent_id: agentId } }),
    callUseCase(app.exports.listExports),
    openErasure(agentId),
    loadOwnAgents(),
  ])
  const agent =
    agentId === undefined ? undefined : (agents.find(({ id }) => id === agentId) ?? { id: agentId, name: agentId })
  const env = readEnv()
  const numbers = consequencesOf(plan.holdings)
  const isUnderWay = open !== undefined && open.state !== 'received'
  return (
    <Messages of={['deletion', 'exports', 'myPrivacy']}>
      <Page
        breadcrumbs={[{ href: privacyTabHref('data', agent?.id), title: pages('privacy') }]}
        title={agent ? t('nameAgent', { agent: agent.name }) : t('name')}
        summary={t('summary', { count: numbers.gone + numbers.changed + numbers.held })}
      >
        {open && <OpenErasure request={open} />}
        {!isUnderWay && (
          <DeletionSteps
            what={<ConsequenceList {...{ numbers, plan }} isOfAgent={agent !== undefined} />}
            numbers={numbers}
            exported={exported}
            agent={agent}
            identity={identityOf(person)}
            isAdmin={person.role === 'admin'}
            tokens={env.KP_GRACE_TOKENS}
            signIn={env.KP_GRACE_SIGN_IN}
          />
        )}
      </Page>
    </Messages>
  )
}

/** What remains after a deletion, in two lines; everything in detail behind a disclosure. */
async function RetainedData({ retained }: Pick<Receipt, 'retained'>) {
  const [t, format] = await Promise.all([getTranslations('deletion.what.stays'), getFormatter()])
  const { systems, hasOthers } = externalSystemsIn(retained)
  const outside = hasOthers ? [...systems, t('outsideOthers')] : systems
  const backupDays = readEnv().KP_BACKUP_DAYS
  return (
    <section aria-labelledby="retained-title" className="grid gap-2">
      <h3 id="retained-title" className="font-semibold">
        {t('title')}
      </h3>
      <p>{t('lead', { days: auditDays })}</p>
      {outside.length > 0 && <p>{t('outside', { systems: format.list(outside) })}</p>}
      <p>{backupDays === undefined ? t('backupsOpen') : t('backups', { days: backupDays })}</p>
      <details>
        <summary className="min-h-6 cursor-pointer text-accent">{t('all', { count: retained.length })}</summary>
        <RetainedList retained={retained} now={app.pipeline.clock.now()} />
      </details>
    </section>
  )
}

type Plan = Output<typeof planErasure>['data']
type Holding = Plan['holdings'][number]

const heldOf = ({ held }: Holding): number => held.reduce((sum, { count }) => sum + count, 0)

interface ConsequencesProps {
  plan: Plan
  numbers: Numbers
  isOfAgent: boolean
}

/** The result of a dry run: what is deleted, what is retained and why, and what cannot be undone. */
async function ConsequenceList(props: ConsequencesProps) {
  const { numbers, plan } = props
  const [t, format] = await Promise.all([getTranslations('deletion.what'), getFormatter()])
  const { gone, changed, held } = numbers
  const tiles: StatTile[] = [
    { label: t('tiles.gone'), value: format.number(gone) },
    ...(changed > 0 ? [{ label: t('tiles.changed'), value: format.number(changed) }] : []),
    ...(held > 0 ? [{ label: t('tiles.held'), value: format.number(held), tone: 'warning' as const }] : []),
  ]
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      <StatTiles tiles={tiles} />
      {held > 0 && (
        <Alert tone="warning" title={t('held.title', { count: held })}>
          <p>{t('held.text')}</p>
        </Alert>
      )}
      <Deleted {...props} />
      <RetainedData retained={plan.retained} />
      <section aria-labelledby="final-title" className="grid gap-2">
        <h3 id="final-title" className="font-semibold">
          {t('final.title')}
        </h3>
        <Points points={(['back', 'copies'] as const).map((key) => [key, t(`final.items.${key}`)] as const)} />
      </section>
    </div>
  )
}

/** What is deleted or pseudonymized, in a few lines, with all categories behind a disclosure. */
async function Deleted({ plan, numbers, isOfAgent }: ConsequencesProps) {
  const [t, names, locale] = await Promise.all([
    getTranslations('deletion.what'),
    getTranslations('dataNames').then(dataNamesIn),
    getLocale(),
  ])
  const { colon, space } = punctuationOf(locale)
  const { gone, others } = numbers
  const {
    remaining_projects: remaining = 0,
    unclaimed_participations: unclaimed = 0,
    unconfirmed_participations: unconfirmed = 0,
  } = plan
  const items = (['units', 'skills', 'agents', 'tokens', 'projects'] as const)
    .filter((key) => numbers[key] > 0)
    .map((key) => [key, t(`items.${key}`, { count: numbers[key] })] as const)
  const changed = (['mentions', 'requests', 'owners'] as const).filter((key) => numbers[key] > 0)
  const rows = plan.holdings
    .filter((one) => one.count > 0 || heldOf(one) > 0)
    .toSorted((one, other) => other.count - one.count)
    .map((one) => ({
      key: one.holder,
      what: names.erasedRecords(one.holder, one.what),
      deleted: isPseudonymized(one.holder) ? 0 : one.count,
      changed: isPseudonymized(one.holder) ? one.count : 0,
      held: heldOf(one),
    }))
  return (
    <section aria-labelledby="deleted-title" className="grid gap-2">
      <h3 id="deleted-title" className="sr-only">
        {t('list')}
      </h3>
      {gone === 0 ? (
        <p>{t('nothing')}</p>
      ) : (
        <Points
          points={[
            ...(isOfAgent ? [] : [['account', t('items.account')] as const]),
            ...items,
            ...(others > 0
              ? [['others', t(isOfAgent ? 'items.othersAgent' : 'items.others', { count: others })] as const]
              : []),
          ]}
        />
      )}
      {!isOfAgent && remaining > 0 && <p>{t('projectsLeft', { count: remaining })}</p>}
      {!isOfAgent && unclaimed > 0 && (
        <p>
          {t('unclaimed', { count: unclaimed })} <TextLink href="/settings/privacy">{t('claim')}</TextLink>
        </p>
      )}
      {!isOfAgent && unconfirmed > 0 && <p>{t('unconfirmed', { count: unconfirmed })}</p>}
      {changed.length > 0 && (
        <p>
          {`${t('changed')}${colon}`}
          {changed.map((key) => t(key, { count: numbers[key] })).join(space)}
        </p>
      )}
      <details>
        <summary className="min-h-6 cursor-pointer text-accent">{t('table', { count: rows.length })}</summary>
        <div className="mt-2">
          <PlanTable rows={rows} />
        </div>
      </details>
    </section>
  )
}

type Detail = z.output<typeof RequestDetailView>

const unlessMissing = async <T,>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (Problem.is(error) && (error.status === 404 || error.status === 401)) return undefined
    throw error
  }
}
/** The request; undefined after the session ended or the account was erased. */
const detailOf = async (requestId: string): Promise<Detail | undefined> =>
  (await unlessMissing(callUseCase(app.requests.read, { params: { id: requestId } })))?.data

/** The name of the agent that the request erases; undefined if the request erases a person, or after it erased the agent. */
const agentNameIn = async (accountId: string, requestId: string): Promise<string | undefined> =>
  (await erasuresForFrame(accountId)).shown.find((one) => one.requestId === requestId)?.agent ?? undefined

async function underReceipt(id: string | null): Promise<UnderReceipt> {
  const found = id === null ? undefined : await receiptNamed(id)
  if (found === 'under_way' && id !== null) {
    const progress = await unlessMissing(callUseCase(app.receipts.progress, { params: { id } }))
    return progress?.data.state === 'failed' ? 'failed' : found
  }
  if (typeof found !== 'object') return found
  return legalHoldCountsIn(found) > 0 ? 'signed_held' : 'signed'
}

/** Statuses of a deletion that has its progress on this page. */
const going: readonly (FiledDeletionStatus | undefined)[] = ['running', 'failed', 'afterCopy']

interface FiledDeletionProps {
  asked: FiledDeletion
  detail: Detail | undefined
  agentName: string | undefined
}
/**
 * Shown after a deletion was requested: its start or progress and how to cancel it. It ends in the receipt as soon as that is signed.
 */
async function FiledDeletionPage({ asked, detail, agentName }: FiledDeletionProps) {
  const receiptId = detail ? detail.receipt_id : (asked.receiptId ?? null)
  const [t, now, receipt] = await Promise.all([getTranslations('deletion'), getNow(), underReceipt(receiptId)])
  if (receiptId !== null && (receipt === 'signed' || receipt === 'signed_held')) redirect(`/receipts/${receiptId}`)
  const saying = detail && requestSayingOf(detail, detail.timeline, now)
  const status = saying ? filedDeletionStatus(saying, receipt) : agentsNotYetFiled(receipt, asked.until, now)
  const agentId = detail ? detail.agent_id : (asked.agent ?? null)
  const agent = agentId === null ? null : (agentName ?? agentId)
  const until = detail ? detail.waiting_until : (asked.until ?? null)
  const isOver = status === 'cancelled' || status === 'rejected' || (detail !== undefined && isClosed(detail.state))
  const isGoing = going.includes(status) || (status === undefined && !isOver)
  return (
    <Page title={agent === null ? t('name') : t('nameAgent', { agent })}>
      <Stepper
        label={t('steps.label')}
        steps={deletionSteps.map((key) => ({ key, title: t(`steps.${key}`) }))}
        current="confirm"
        isDone
      />
      <section aria-labelledby="status-title" className="grid gap-3">
        <h2 id="status-title" className="text-lg font-semibold">
          {status ? t(`done.states.${status}.title`) : saying && <RequestStatusText saying={saying} request={detail} />}
        </h2>
        {isGoing && (
          <DeletionProgress
            receiptId={status === 'afterCopy' ? undefined : (receiptId ?? undefined)}
            isSlow={status === 'afterCopy'}
          />
        )}
        <div role="status" className="grid gap-2">
          {status ? (
            <p>
              {t.rich(`done.states.${status}.text`, {
                whom: agent === null ? 'person' : 'agent',
                agent: agent ?? '',
                isDated: until === null ? 'no' : 'yes',
                time: () => (until === null ? '' : <Time at={until} relative />),
              })}
            </p>
          ) : (
            saying && <RequestStatusDetail saying={saying} request={detail} />
          )}
        </div>
        <FiledNotes
          receiptId={isOver ? null : receiptId}
          isJoined={asked.isJoined}
          hasCopy={detail !== undefined && status === 'waiting' && waitsForCopy(detail)}
          isOver={isOver}
        />
      </section>
      <p className="flex flex-wrap gap-2">
        {detail && (
          <ButtonLink href={`/settings/privacy/requests/${detail.id}`} tone="plain">
            {t('done.follow')}
          </ButtonLink>
        )}
        <ButtonLink href={detail ? '/settings/privacy' : '/'} tone="plain">
          {t(detail ? 'done.privacy' : 'done.home')}
        </ButtonLink>
      </p>
    </Page>
  )
}

/** What else to know until the deletion is over: the address of the receipt, the copy, and the emails. */
async function FiledNotes({
  receiptId,
  isJoined,
  hasCopy,
  isOver,
}: {
  receiptId: string | null
  isJoined: boolean
  hasCopy: boolean
  isOver: boolean
}) {
  const t = await getTranslations('deletion.done')
  return (
    <>
      {isJoined && <p>{t('joined')}</p>}
      {hasCopy && <p>{t('copy')}</p>}
      {receiptId !== null && (
        <p>
          {t.rich('receiptLater', {
            link: (text) => (
              <TextLink href={`/receipts/${receiptId}`} prefetch={false}>
                {text}
              </TextLink>
            ),
          })}
        </p>
      )}
      {!isOver && <p className="text-quiet">{t('letters')}</p>}
    </>
  )
}
