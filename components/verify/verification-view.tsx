'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Folded } from '#components/receipts/folded.tsx'
import { ReceiptSentences } from '#components/receipts/receipt-lead.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { VerificationResult } from './verify-receipt.ts'

const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text))
/** A receipt that a stranger signed may have any texts in the place of times. */
const hasOnlyTimes = ({ deleted_at, stores, complete_reading: reading }: Receipt): boolean =>
  [
    deleted_at,
    ...stores.map(({ verified_at }) => verified_at),
    ...(reading?.stores.map(({ until }) => until) ?? []),
  ].every(isTime)
const When = ({ at }: { at: string }) => (isTime(at) ? <Time at={at} /> : at)

/** The contents of a receipt with a valid signature. */
function Said({
  verdict: { receipt, kid, left, held },
  keysFrom,
}: {
  verdict: Extract<VerificationResult, { kind: 'holds' }>
  keysFrom: string
}) {
  const t = useTranslations('verify.facts')
  const facts: [string, ReactNode][] = [
    [t('deleted'), <CopyableId key="deleted" id={receipt.deleted_id} what={t('deleted')} />],
    [t('at'), <When key="at" at={receipt.deleted_at} />],
    [t('signed'), <When key="signed" at={receipt.signed_at} />],
    [t('stores'), t(held > 0 && left === 0 ? 'storesHeld' : 'storesText', { stores: receipt.stores.length, left })],
    [t('retained'), t('retainedText', { count: receipt.retained.length })],
    [t('issuer'), receipt.issuer],
    [t('kid'), <CopyableId key="kid" id={kid} what={t('kid')} />],
    [t('keySource'), keysFrom],
  ]
  return <FactList facts={facts} />
}

/** The contents of an attestation with a valid signature. */
function Attested({
  verdict: { attestation, kid },
  keysFrom,
}: {
  verdict: Extract<VerificationResult, { kind: 'attestationHolds' }>
  keysFrom: string
}) {
  const t = useTranslations('verify.facts')
  const notRead = attestation.stores.flatMap(({ not_read }) => not_read).reduce((sum, { count }) => sum + count, 0)
  const facts: [string, ReactNode][] = [
    [
      t('read'),
      t.rich('readText', {
        from: () => <When at={attestation.started_at} />,
        until: () => <When at={attestation.completed_at} />,
      }),
    ],
    [t('erasures'), t('erasuresText', { found: attestation.erasures_found, all: attestation.erasures })],
    [t('notRead'), notRead],
    [t('signed'), <When key="signed" at={attestation.signed_at} />],
    [t('issuer'), attestation.issuer],
    [t('kid'), <CopyableId key="kid" id={kid} what={t('kid')} />],
    [t('keySource'), keysFrom],
  ]
  return <FactList facts={facts} />
}

/** The result in words: what was verified, with which key, and what it proves. */
export function VerificationView({
  verdict,
  origin,
}: {
  verdict: VerificationResult | { kind: 'notFound' }
  origin: string
}) {
  const t = useTranslations('verify')
  const key = (kid: string | undefined) => () => <code className="font-mono text-[0.8125rem]">{kid ?? '?'}</code>
  switch (verdict.kind) {
    case 'notReceipt':
      return (
        <Alert tone="danger" isLive title={t('result.notReceipt')}>
          <p>{t('result.notReceiptText')}</p>
        </Alert>
      )
    case 'notFound':
      return <Alert tone="warning" isLive title={t('result.notFound')} />
    case 'noKeys':
      return <Alert tone="danger" isLive title={t('keys.none')} />
    case 'keysUnreachable':
      return <Alert tone="warning" isLive title={t('keys.unreachable')} />
    case 'holds': {
      const { left, held, receipt, isPinned } = verdict
      return (
        <div className="grid gap-5">
          <Alert tone="done" isLive title={t('result.holds')}>
            <p>
              {t.rich('result.holdsText', {
                issuer: () => receipt.issuer,
                time: () => <When at={receipt.signed_at} />,
              })}
            </p>
            {receipt.complete_reading && <p>{t('result.reading')}</p>}
            <p>{t(isPinned ? 'result.holdsIndependent' : 'result.holdsHere')}</p>
          </Alert>
          {(left > 0 || receipt.stores.length === 0) && (
            <Alert tone="warning" isLive title={t('result.leftTitle')}>
              <p>{t('result.leftText', { count: left })}</p>
            </Alert>
          )}
          {held > 0 && (
            <Alert tone="warning" isLive title={t('result.heldTitle', { count: held })}>
              <p>{t('result.heldText', { count: held })}</p>
            </Alert>
          )}
          {receipt.issuer !== origin && <Alert title={t('result.issuer', { issuer: receipt.issuer })} />}
          {hasOnlyTimes(receipt) && (
            <div className="grid gap-2">
              <ReceiptSentences receipt={receipt} isBrief />
            </div>
          )}
          {receipt.issuer === origin && (
            <p>
              <TextLink href={`/receipts/${receipt.receipt_id}`}>{t('facts.open')}</TextLink>
            </p>
          )}
          <Folded title={t('details')}>
            <Said verdict={verdict} keysFrom={isPinned ? t('keys.pinned') : `${origin}/.well-known/jwks.json`} />
          </Folded>
        </div>
      )
    }
    case 'attestationHolds': {
      const { kid, attestation, isPinned } = verdict
      const erased = attestation.stores.reduce((sum, one) => sum + one.erased, 0)
      const left = attestation.stores.reduce((sum, one) => sum + one.left, 0)
      return (
        <div className="grid gap-5">
          <Alert tone="done" isLive title={t('result.holds')}>
            <p>{t.rich('result.holdsText', { kid: key(kid) })}</p>
            <p>{t(isPinned ? 'result.holdsIndependent' : 'result.holdsHere')}</p>
          </Alert>
          {erased + left > 0 && (
            <Alert tone="warning" isLive title={t('result.foundTitle', { count: erased + left })}>
              <p>{t('result.foundText', { erased, left })}</p>
            </Alert>
          )}
          {attestation.issuer !== origin && <Alert title={t('result.issuer', { issuer: attestation.issuer })} />}
          <Attested verdict={verdict} keysFrom={isPinned ? t('keys.pinned') : `${origin}/.well-known/jwks.json`} />
        </div>
      )
    }
    case 'unsupported':
      return (
        <Alert tone="warning" isLive title={t('result.unsupported')}>
          <p>{t.rich('result.unsupportedText', { code: (text) => <code className="font-mono">{text}</code> })}</p>
        </Alert>
      )
    default:
      return (
        <Alert tone="danger" isLive title={t(`result.${verdict.kind}`)}>
          <p>{t.rich(`result.${verdict.kind}Text`, { kid: key(verdict.kid) })}</p>
        </Alert>
      )
  }
}
