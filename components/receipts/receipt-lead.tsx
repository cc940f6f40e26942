import { clsx } from 'clsx'
import { Stamp, TriangleAlert } from 'lucide-react'
import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useDataNames } from '#components/stores/data-names.ts'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'
import { legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'
import { Folded } from './folded.tsx'
import { ReceiptTable } from './receipt-table.tsx'
import { useReceiptWords } from './receipt-words.tsx'
import { type StayingGroup, stayingData } from './staying-rules.ts'
import { heldCopies, includesOwnRequest, receiptSummary, type StoreTotal, storeTotals } from './store-totals.ts'

type Reading = NonNullable<Receipt['complete_reading']>
const byTime = (times: readonly string[]): string[] =>
  times.toSorted((one, other) => Date.parse(one) - Date.parse(other))
const added = (counts: readonly number[]): number => counts.reduce((sum, one) => sum + one, 0)

/** How the places were searched again, in one sentence for each statement of the receipt. It claims no more than they do. */
function SearchedAgain({ receipt: { stores, complete_reading: reading } }: { receipt: Receipt }) {
  const t = useTranslations('receipt.search')
  const { space } = usePunctuation()
  const from = byTime(stores.map(({ verified_at }) => verified_at))[0]
  if (from === undefined) return null
  const until = byTime(reading?.stores.map((one) => one.until) ?? []).at(-1)
  return (
    <p className="text-quiet">
      {t.rich('index', { time: () => <Time at={from} /> })}
      {space}
      {reading && until !== undefined ? (
        <>
          {t.rich('complete', { time: () => <Time at={until} />, stores: reading.stores.length })}
          {space}
          {t('completeLeft', { left: added(reading.stores.map(({ left }) => left)) })}
          {space}
          <NamesListed reading={reading} />
          {space}
          <NotRead reading={reading} />
        </>
      ) : (
        t('notComplete')
      )}
    </p>
  )
}

/** Places in which a name remains. A statement without these counts did not compare names. */
function NamesListed({ reading }: { reading: Reading }) {
  const t = useTranslations('receipt.search')
  const names = reading.stores.flatMap((one) => one.names ?? [])
  if (names.length < reading.stores.length) return t('namesNotCompared')
  const count = added(names.map(({ listed }) => listed))
  return count > 0 ? t('namesListed', { count }) : null
}

function NotRead({ reading }: { reading: Reading }) {
  const t = useTranslations('receipt.search')
  const count = added(reading.stores.flatMap(({ not_read }) => not_read.map((one) => one.count)))
  return count > 0 ? t('notRead', { count }) : null
}

/** The second statement: what was read completely, by store. */
export function ReadingTable({ reading }: { reading: Reading | undefined }) {
  const t = useTranslations('receipt')
  const names = useDataNames()
  if (!reading) return null
  const counts = ['texts', 'found', 'erased', 'left', 'explained'] as const
  return (
    <Folded title={t('search.table')}>
      <ReceiptTable
        columns={[t('store'), t('what'), ...counts.map((key) => t(`search.${key}`)), t('search.until')]}
        rows={reading.stores.map((one) => ({
          key: `${one.store} ${one.holder}`,
          cells: [
            names.place(one.store),
            names.records(one.holder),
            ...counts.map((key) => one[key]),
            <Time key="until" at={one.until} />,
          ],
        }))}
      />
    </Folded>
  )
}

/** One line of the answer to "what stays, and why?". */
function Staying({ group }: { group: StayingGroup }) {
  const t = useTranslations('receipt.staying')
  const { space } = usePunctuation()
  const format = useFormatter()
  const { name, parts, until } = group
  return (
    <li>
      <span className="font-medium">{t(`${name}.title`)}</span>
      {t('colon')}
      {t(`${name}.text`, { parts: format.list(parts.map((part) => t(`parts.${part}`))) })}
      {space}
      <span className="text-quiet">
        {until !== null
          ? t.rich('until', { time: () => <Time at={until} isDay /> })
          : !parts.includes('copies') && t('noEnd')}
      </span>
    </li>
  )
}

/** What stays and why, in three lines, and each thing that was to be deleted and is still there. */
function WhatStays({ receipt }: { receipt: Receipt }) {
  const t = useTranslations('receipt')
  const words = useReceiptWords()
  const { groups, others } = stayingData(receipt)
  // The sentence about the legal hold counts these records. The table of all details names the hold.
  const isHoldStated = legalHoldCountsIn(receipt) > 0
  const unstated = others.filter(({ what }) => !isHoldStated || recognizeReceiptText('retained', what)?.code !== 'held')
  const mentions = added(receipt.remaining_mentions?.map(({ count }) => count) ?? [])
  const unsearched = receipt.not_searched?.length ?? 0
  const notes: (readonly [string, ReactNode])[] = [
    ...unstated.map(({ what }) => [what, words.retained(what)] as const),
    ...(mentions > 0 ? [['mentions', t('staying.mentions', { count: mentions })] as const] : []),
    ...(unsearched > 0 ? [['unsearched', t('staying.unsearched', { count: unsearched })] as const] : []),
  ]
  if (groups.length === 0 && notes.length === 0) return null
  return (
    <section aria-labelledby="staying" className="grid gap-2 border-t border-line pt-4">
      <h2 id="staying" className="font-semibold">
        {t('staying.title')}
      </h2>
      <ul className="grid gap-2">
        {groups.map((group) => (
          <Staying key={group.name} group={group} />
        ))}
        {notes.map(([key, text]) => (
          <li key={key} className="flex gap-2">
            <TriangleAlert aria-hidden className="mt-1 size-4 shrink-0 text-amber" />
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Places that lost records. */
const placesOf = (totals: readonly StoreTotal[]): number => totals.filter(({ deleted }) => deleted > 0).length

/** What was deleted, and how it was searched again, in sentences. They state only what the receipt states. */
export function ReceiptSentences({ receipt, isBrief = false }: { receipt: Receipt; isBrief?: boolean }) {
  const t = useTranslations('receipt')
  const format = useFormatter()
  const { status, counts } = receiptSummary(receipt, legalHoldCountsIn(receipt))
  return (
    <>
      <p className="text-lg font-medium">
        {t(`lead.${status}`, {
          ...counts,
          kind: receipt.part_kind ?? receipt.subject_kind ?? 'other',
          places: placesOf(storeTotals(receipt)),
          day: format.dateTime(new Date(receipt.deleted_at), { day: 'numeric', month: 'long', year: 'numeric' }),
        })}
      </p>
      {counts.pseudonymized > 0 && <p>{t('lead.renamed', { count: counts.pseudonymized })}</p>}
      {counts.held > 0 && <p className="text-amber">{t('lead.onHold', { count: counts.held })}</p>}
      {!isBrief && includesOwnRequest(receipt) && (
        <p className="text-quiet">{t('lead.own', { copies: heldCopies(receipt) })}</p>
      )}
      <SearchedAgain receipt={receipt} />
    </>
  )
}

/** The first layer of a receipt: one sentence, the seal, and what stays. */
export function ReceiptLead({ receipt, children }: { receipt: Receipt; children?: ReactNode }) {
  const t = useTranslations('receipt')
  const { status } = receiptSummary(receipt, legalHoldCountsIn(receipt))
  const isWhole = status === 'verified' || status === 'held'
  return (
    <div className="grid max-w-[48rem] gap-4 rounded-box border border-line bg-raised p-5">
      <div className="flex gap-4 max-sm:flex-col">
        <Stamp
          aria-hidden
          strokeWidth={1.5}
          className={clsx(
            'size-12 shrink-0 rounded-full p-2.5',
            isWhole ? 'bg-green-wash text-green' : 'bg-amber-wash text-amber',
          )}
        />
        <div className="grid min-w-0 gap-2">
          <ReceiptSentences receipt={receipt} />
          <p className="text-quiet wrap-anywhere">
            {t.rich('lead.signed', { time: () => <Time at={receipt.signed_at} />, issuer: receipt.issuer })}
          </p>
        </div>
      </div>
      {children && <div className="flex flex-wrap gap-2 print:hidden">{children}</div>}
      <WhatStays receipt={receipt} />
    </div>
  )
}
