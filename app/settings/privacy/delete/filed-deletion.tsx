import { getNow, getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import type { z } from 'zod'
import { callUseCase } from '#app/page-access.ts'
import { receiptNamed } from '#app/receipts/named.ts'
import {
  agentsNotYetFiled,
  type FiledDeletion,
  filedDeletionQuery,
  filedDeletionStatus,
  type UnderReceipt,
} from '#components/privacy/filed-deletion-rules.ts'
import { requestSayingOf, waitsForCopy } from '#components/requests/request-rules.ts'
import { RequestStatusDetail, RequestStatusText } from '#components/requests/request-status.tsx'
import { ButtonLink, PlainButtonLink } from '#components/ui/button.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Page } from '#components/ui/page.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
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

/** Shown after an erasure was requested: its start or progress, how to cancel it, and the link to its receipt. */
export async function FiledDeletionPage({ asked, detail }: { asked: FiledDeletion; detail: Detail | undefined }) {
  const receiptId = detail ? detail.receipt_id : (asked.receiptId ?? null)
  const [t, now, receipt] = await Promise.all([getTranslations('deletion.done'), getNow(), underReceipt(receiptId)])
  const isSigned = receipt === 'signed' || receipt === 'signed_held'
  const saying = detail && requestSayingOf(detail, detail.timeline, now)
  const standing = saying ? filedDeletionStatus(saying) : agentsNotYetFiled(receipt, asked.until, now)
  const agent = detail ? detail.agent_id : (asked.agent ?? null)
  const whom = agent === null ? 'person' : 'agent'
  const until = detail ? detail.waiting_until : (asked.until ?? null)
  const isAhead = standing === 'waiting' || standing === 'aheadOut'
  const isGoing =
    standing === 'running' ||
    standing === 'failed' ||
    standing === 'afterCopy' ||
    (standing === undefined && detail !== undefined && !isClosed(detail.state))
  const isUnknown = standing === 'aheadOut' || standing === 'begunOut'
  const isOver = standing === 'cancelled' || standing === 'rejected' || (detail && isClosed(detail.state) && !isSigned)
  const facts: (readonly [string, ReactNode])[] = []
  if (isAhead && until !== null) facts.push([t('when'), <Time key="when" at={until} relative />])
  if (receiptId !== null && !isOver)
    facts.push([
      t('receipt'),
      <div key="receipt" className="grid gap-1">
        <ShortId id={receiptId} what={t('copyId')} />
        <p>
          {t(isSigned ? 'receiptReady' : isUnknown ? 'receiptPerhaps' : 'receiptLater')}{' '}
          <TextLink href={`/receipts/${receiptId}`} prefetch={false}>
            {t('open')}
          </TextLink>
        </p>
      </div>,
    ])
  if (!isOver) facts.push([t('letters'), t('lettersText')])
  if (detail)
    facts.push([
      t('request'),
      <TextLink key="request" href={`/settings/privacy/requests/${detail.id}`}>
        {t('follow')}
      </TextLink>,
    ])
  const again = detail
    ? filedDeletionQuery(detail, { agent: agent ?? undefined, isJoined: asked.isJoined })
    : new URLSearchParams({
        ...{ step: 'done', request: asked.requestId, begin: 'now' },
        ...(receiptId !== null && { receipt: receiptId }),
        ...(agent !== null && { agent }),
      }).toString()
  return (
    <Page
      title={
        standing
          ? t.rich(`${whom}.${standing}.title`, {
              agent: agent ?? '',
              isDated: until === null ? 'no' : 'yes',
              time: () => (until === null ? '' : <Time at={until} relative />),
            })
          : saying && <RequestStatusText saying={saying} request={detail} />
      }
      lead={
        standing ? (
          <p>{t(`${whom}.${standing}.text`)}</p>
        ) : (
          saying && <RequestStatusDetail saying={saying} request={detail} />
        )
      }
    >
      {asked.isJoined && <p>{t('joined')}</p>}
      {detail && standing === 'waiting' && waitsForCopy(detail) && <p>{t('copy')}</p>}
      <FactList facts={facts} />
      <p className="flex flex-wrap gap-2">
        {isGoing && (
          <PlainButtonLink href={`/settings/privacy/delete?${again}`} tone="plain">
            {t('look')}
          </PlainButtonLink>
        )}
        <ButtonLink href={detail ? '/settings/privacy' : '/'} tone="plain">
          {t(detail ? 'privacy' : 'home')}
        </ButtonLink>
      </p>
    </Page>
  )
}
