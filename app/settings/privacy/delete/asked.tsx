import { getNow, getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import type { z } from 'zod'
import { type Asked, askedQuery, askedStanding, waitsForCopy } from '#components/privacy/asked-rules.ts'
import { ButtonLink, PlainButtonLink } from '#components/ui/button.tsx'
import { Facts } from '#components/ui/facts.tsx'
import { Page } from '#components/ui/page.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app.ts'
import type { RequestDetail } from '#lib/domains/privacy-requests/contract.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { ask } from '../../../reader.ts'

type Detail = z.output<typeof RequestDetail>

const unlessMissing = async <T,>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (Problem.is(error) && (error.status === 404 || error.status === 401)) return undefined
    throw error
  }
}
/** How the request stands for who may still read it; undefined once their session, or they themselves, are gone. */
export const detailOf = async (requestId: string): Promise<Detail | undefined> =>
  (await unlessMissing(ask(app.requests.read, { params: { id: requestId } })))?.data

const isReceiptSigned = async (id: string | null): Promise<boolean> =>
  id !== null && (await unlessMissing(ask(app.receipts.read, { params: { id } }))) !== undefined

/** After an erasure was asked for: when it begins or how far it is, how to call it off, and where the receipt will be. */
export async function AskedPage({ asked, detail }: { asked: Asked; detail: Detail | undefined }) {
  const receiptId = detail ? detail.receipt_id : (asked.receiptId ?? null)
  const [t, now, isSigned] = await Promise.all([getTranslations('deletion.done'), getNow(), isReceiptSigned(receiptId)])
  const standing = askedStanding(detail, { until: asked.until, isSigned }, now)
  const agent = detail ? detail.agent_id : (asked.agent ?? null)
  const whom = agent === null ? 'person' : 'agent'
  const until = (detail ? detail.waiting_until : asked.until) ?? now.toISOString()
  const isAhead = standing === 'waiting' || standing === 'waitingOut'
  const isGoing = standing === 'running' || standing === 'failed' || standing === 'afterCopy'
  const facts: (readonly [string, ReactNode])[] = []
  if (isAhead) facts.push([t('when'), <Time key="when" at={until} relative />])
  if (receiptId !== null && standing !== 'cancelled')
    facts.push([
      t('receipt'),
      <div key="receipt" className="grid gap-1">
        <ShortId id={receiptId} what={t('copyId')} />
        <p>
          {t(isSigned ? 'receiptReady' : 'receiptLater')}{' '}
          <TextLink href={`/receipts/${receiptId}`} prefetch={false}>
            {t('open')}
          </TextLink>
        </p>
      </div>,
    ])
  if (standing !== 'cancelled') facts.push([t('letters'), t('lettersText')])
  if (detail)
    facts.push([
      t('request'),
      <TextLink key="request" href={`/settings/privacy/requests/${detail.id}`}>
        {t('follow')}
      </TextLink>,
    ])
  const again = detail
    ? askedQuery(detail, { agent: agent ?? undefined, isJoined: asked.isJoined })
    : new URLSearchParams({
        ...{ step: 'done', request: asked.requestId, begin: 'now' },
        ...(receiptId !== null && { receipt: receiptId }),
        ...(agent !== null && { agent }),
      }).toString()
  return (
    <Page
      title={t.rich(`${whom}.${standing}.title`, { agent: agent ?? '', time: () => <Time at={until} relative /> })}
      lead={<p>{t(`${whom}.${standing}.text`)}</p>}
    >
      {asked.isJoined && <p>{t('joined')}</p>}
      {detail && standing === 'waiting' && waitsForCopy(detail) && <p>{t('copy')}</p>}
      <Facts facts={facts} />
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
