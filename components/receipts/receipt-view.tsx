import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ButtonLink, PlainButtonLink } from '#components/ui/button.tsx'
import { LinkCopy } from '#components/ui/copy-link.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { DerivedSections } from './derived-sections.tsx'
import { Folded } from './folded.tsx'
import { PrintButton } from './print-button.tsx'
import { ReadingTable } from './receipt-lead.tsx'
import { ReceiptProof } from './receipt-proof.tsx'
import { ReceiptPhysical, ReceiptRetained } from './receipt-retained.tsx'
import { ReceiptStores, RecordTypes } from './receipt-stores.tsx'

/** Downloads the keys that verify receipts. A copy from before the deletion does not depend on this server. */
export function PublicKeysLink({ size }: { size?: 'small' }) {
  const t = useTranslations('receipt')
  return (
    <PlainButtonLink tone="plain" size={size} href="/.well-known/jwks.json" download="public-keys.json">
      {t('keys')}
    </PlainButtonLink>
  )
}

/** Verify, and one file with everything that a later verification needs. */
export function ReceiptActions({ id }: { id: string }) {
  const t = useTranslations('receipt')
  return (
    <>
      <ButtonLink href={`/verify#${id}`}>{t('check')}</ButtonLink>
      <PlainButtonLink tone="plain" href={`/v1/receipts/${id}/pdf`} download={`${id}.pdf`} title={t('saveHint')}>
        {t('saveFile')}
      </PlainButtonLink>
    </>
  )
}

/** The other forms of the receipt. */
function ReceiptFiles({ id }: { id: string }) {
  const t = useTranslations('receipt')
  return (
    <p className="flex flex-wrap gap-2 print:hidden">
      <PlainButtonLink tone="plain" size="small" href={`/v1/receipts/${id}`} download={`${id}.json`}>
        {t('json')}
      </PlainButtonLink>
      <PublicKeysLink size="small" />
      <PrintButton />
      <LinkCopy path={`/receipts/${id}`} what={t('copyLink')} />
    </p>
  )
}

/** Subject, dates and issuer. */
export function ReceiptFacts({ receipt }: { receipt: Receipt }) {
  const t = useTranslations('receipt')
  const kind = receipt.part_kind ?? receipt.subject_kind
  const { names_replaced: names } = receipt
  const facts: (readonly [string, ReactNode])[] = [
    [
      t('subject'),
      <span key="subject">
        {kind && <>{t(`kinds.${kind}`)} </>}
        <CopyableId id={receipt.deleted_id} what={t('subject')} />
      </span>,
    ],
    [t('deletedAt'), <Time key="at" at={receipt.deleted_at} />],
    [t('signedAt'), <Time key="signed" at={receipt.signed_at} />],
    ...(names === undefined
      ? []
      : [[t('names.title'), names === null ? t('names.kept') : t('names.replaced', { count: names })] as const]),
    [t('issuer'), receipt.issuer],
    [t('id'), <CopyableId key="receipt" id={receipt.receipt_id} what={t('id')} />],
  ]
  return (
    <Card>
      <FactList facts={facts} />
    </Card>
  )
}

/** The second layer: all tables, facts and files. */
export function ReceiptView({ receipt, address }: { receipt: Receipt; address: string }) {
  const t = useTranslations('receipt')
  return (
    <div className="grid gap-3">
      <Folded title={t('details')}>
        <div className="grid min-w-0 gap-6">
          <ReceiptFacts receipt={receipt} />
          <ReceiptStores stores={receipt.stores} />
          <ReceiptRetained retained={receipt.retained} />
          <DerivedSections receipt={receipt} />
          <ReadingTable reading={receipt.complete_reading} />
          <RecordTypes stores={receipt.stores} />
          <ReceiptPhysical physical={receipt.physical} />
        </div>
      </Folded>
      <Folded title={t('files')}>
        <ReceiptFiles id={receipt.receipt_id} />
        <ReceiptProof receipt={receipt} address={address} />
      </Folded>
    </div>
  )
}
