import { redirect } from 'next/navigation'
import { getNow, getTranslations } from 'next-intl/server'
import type { z } from 'zod'
import { callUseCase } from '#app/page-access.ts'
import { receiptNamed } from '#app/receipts/named.ts'
import { DeletionProgress } from '#components/privacy/deletion-progress.tsx'
import { deletionSteps } from '#components/privacy/deletion-rules.ts'
import {
  agentsNotYetFiled,
  type FiledDeletion,
  type FiledDeletionStatus,
  filedDeletionStatus,
  type UnderReceipt,
} from '#components/privacy/filed-deletion-rules.ts'
import { requestSayingOf, waitsForCopy } from '#components/requests/request-rules.ts'
import { RequestStatusDetail, RequestStatusText } from '#components/requests/request-status.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { Stepper } from '#components/ui/stepper.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import type { RequestDetailView } from '#lib/domains/privacy-requests/contract.ts'
import { isClosed } from '#lib/domains/privacy-requests/rules.ts'
import { Problem } from '#lib/kernel/problem.ts'

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
export const detailOf = async (requestId: string): Promise<Detail | undefined> =>
  (await unlessMissing(callUseCase(app.requests.read, { params: { id: requestId } })))?.data

async function underReceipt(id: string | null): Promise<UnderReceipt> {
  const found = id === null ? undefined : await receiptNamed(id)
  if (typeof found !== 'object') return found
  return legalHoldCountsIn(found) > 0 ? 'signed_held' : 'signed'
}

/** Statuses that end in the receipt without an action of the person. */
const going: readonly (FiledDeletionStatus | undefined)[] = ['running', 'failed', 'afterCopy']

/**
 * Shown after a deletion was requested: its start or progress and how to cancel it. It ends in the receipt as soon as that is signed.
 */
export async function FiledDeletionPage({ asked, detail }: { asked: FiledDeletion; detail: Detail | undefined }) {
  const receiptId = detail ? detail.receipt_id : (asked.receiptId ?? null)
  const [t, now, receipt] = await Promise.all([getTranslations('deletion'), getNow(), underReceipt(receiptId)])
  if (receiptId !== null && (receipt === 'signed' || receipt === 'signed_held')) redirect(`/receipts/${receiptId}`)
  const saying = detail && requestSayingOf(detail, detail.timeline, now)
  const status = saying ? filedDeletionStatus(saying) : agentsNotYetFiled(receipt, asked.until, now)
  const agent = detail ? detail.agent_id : (asked.agent ?? null)
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
