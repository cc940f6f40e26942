'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { saveFile } from '#components/ui/save-file.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type {
  CompleteReadingView,
  decideRemainingPlace,
  ReadingStore,
  RemainingPlace,
} from '#lib/domains/erasure/reading/contract.ts'

/** Saves the signed attestation of a reading as a file, which `/verify` and `kp receipts verify` check. */
export function SaveAttestation({ attestation }: { attestation: NonNullable<CompleteReadingView['attestation']> }) {
  const t = useTranslations('compliance.readings')
  return (
    <Button
      tone="plain"
      onClick={() =>
        saveFile(`${attestation.reading_id}.json`, `${JSON.stringify(attestation, null, 2)}\n`, 'application/json')
      }
    >
      {t('save')}
    </Button>
  )
}

/** The data sources of a reading, with what was found in each of all its erasures. */
export function ReadingStores({ reading }: { reading: CompleteReadingView }) {
  const t = useTranslations('compliance.readings')
  const foundIn = (holder: string) => reading.attestation?.stores.find((one) => one.holder === holder)
  const columns: ShownColumn<ReadingStore>[] = [
    { key: 'store', title: t('columns.store'), main: true, cell: ({ holder }) => holder },
    { key: 'state', title: t('columns.state'), cell: ({ state }) => t(`states.${state}`) },
    { key: 'texts', title: t('columns.texts'), cell: ({ texts }) => t('count', { count: texts }) },
    { key: 'erased', title: t('columns.erased'), cell: ({ holder }) => foundIn(holder)?.erased ?? '–' },
    { key: 'left', title: t('columns.left'), cell: ({ holder }) => foundIn(holder)?.left ?? '–' },
    {
      key: 'notRead',
      title: t('columns.notRead'),
      cell: ({ not_read }) => t('count', { count: not_read.reduce((sum, { count }) => sum + count, 0) }),
    },
  ]
  return (
    <DataTable
      label={t('stores')}
      columns={columns}
      rows={reading.stores}
      rowKey={({ holder }) => holder}
      empty={null}
    />
  )
}

const decideAt: Endpoint<typeof decideRemainingPlace> = { method: 'post', path: '/api/readings/places/{id}' }
const decisions = ['erase', 'keep'] as const

function Decide({ place }: { place: RemainingPlace }) {
  const t = useTranslations('compliance.readings')
  const [decided, setDecided] = useState(place.decision)
  const decide = useApiMutation(decideAt)
  return (
    <div className="flex flex-wrap items-center gap-2">
      {decided !== null && <span>{t(`decided.${decided}`)}</span>}
      {decisions
        .filter((one) => one !== decided)
        .map((decision) => (
          <Button
            key={decision}
            size="small"
            tone={decision === 'erase' ? 'danger' : 'plain'}
            aria-disabled={decide.isPending}
            onClick={() => decide.begin({ params: { id: place.id }, body: { decision } }, () => setDecided(decision))}
          >
            {t(`decisions.${decision}`)}
          </Button>
        ))}
      {decide.problem && <ProblemAlert problem={decide.problem} />}
    </div>
  )
}

/** Places in connected stores where complete readings left erased words. Admins decide about them. */
export function PlaceList({
  places,
  total,
  isAdmin,
}: {
  places: readonly RemainingPlace[]
  total: number
  isAdmin: boolean
}) {
  const t = useTranslations('compliance.readings')
  const columns: ShownColumn<RemainingPlace>[] = [
    {
      key: 'place',
      title: t('columns.place'),
      main: true,
      cell: ({ place }) => <code className="font-mono text-[0.8125rem] [overflow-wrap:anywhere]">{place}</code>,
    },
    { key: 'store', title: t('columns.store'), cell: ({ holder }) => holder },
    { key: 'reason', title: t('columns.reason'), cell: ({ reason }) => t(`reasons.${reason}`) },
    { key: 'found', title: t('columns.found'), cell: ({ first_found_at }) => <Time at={first_found_at} show="both" /> },
    {
      key: 'receipt',
      title: t('columns.receipt'),
      cell: ({ receipt_id }) => <TextLink href={`/receipts/${receipt_id}`}>{`${receipt_id.slice(0, 9)}…`}</TextLink>,
    },
    {
      key: 'decision',
      title: t('columns.decision'),
      cell: (place) =>
        isAdmin ? <Decide place={place} /> : place.decision === null ? t('undecided') : t(`decided.${place.decision}`),
    },
  ]
  return (
    <>
      <DataTable
        label={t('places')}
        columns={columns}
        rows={places}
        rowKey={({ id }) => id}
        empty={<EmptyState title={t('empty')} />}
      />
      {total > places.length && <p className="mt-2 text-sm text-quiet">{t('more', { shown: places.length, total })}</p>}
    </>
  )
}
