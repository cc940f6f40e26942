'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { TextArea } from '#components/ui/field.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'
import { useDataNames } from './data-names.ts'
import { AddressCell, LocationCell, listed } from './location-words.tsx'
import { retireAt, type Store } from './locations.ts'

const bounds = { least: 10, most: 1_000 }
const empty = { statement: '' }

interface RetireDialogProps {
  store: Store & { known_store_id: string }
  name: string
  close: () => void
  done: () => void
}
function RetireDialog({ store, name, close, done }: RetireDialogProps) {
  const t = useTranslations('stores.off')
  const { draft, change: type, clear } = useDraft(`stores.retire.${store.known_store_id}`, empty)
  const change = useApiMutation(retireAt, { touches: ['/api/stores', '/api/erasures', '/api/admin/privacy'] })
  const length = draft.statement.trim().length
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t('ask', { name })}
      consequences={
        <>
          <p className="[overflow-wrap:anywhere]">
            {store.provider} · {store.address}
          </p>
          <p>{t('text')}</p>
        </>
      }
      action={t('do')}
      needsApproval
      change={change}
      isIncomplete={length < bounds.least || length > bounds.most}
      onConfirm={() =>
        change.begin({ params: { id: store.known_store_id }, body: { statement: draft.statement.trim() } }, () => {
          clear()
          done()
        })
      }
    >
      <TextArea
        label={t('statement')}
        hint={t('statementHint')}
        dir="auto"
        maxLength={bounds.most}
        value={draft.statement}
        onChange={({ target }) => type({ statement: target.value })}
        required
      />
    </Confirm>
  )
}

const isKnown = (store: Store): store is Store & { known_store_id: string } => store.known_store_id !== null

/** Stores that held data and are no longer connected. An admin can declare that one contains no data any more. */
export function SwitchedOff({ stores, isAdmin }: { stores: readonly Store[]; isAdmin: boolean }) {
  const t = useTranslations('stores')
  const { close, open } = usePunctuation()
  const names = useDataNames()
  const [retiring, setRetiring] = useState<Store & { known_store_id: string }>()
  const [told, setTold] = useState('')
  const called = ({ name, provider }: Store) => `${names.place(name)}${open}${provider}${close}`
  return (
    <div className="grid gap-3">
      {told !== '' && <Alert tone="done" title={told} isLive />}
      <ul className="divide-y divide-line border-y border-line">
        {stores.filter(isKnown).map((store) => (
          <li key={store.known_store_id} className="flex flex-wrap items-start gap-x-4 gap-y-2 py-3">
            <div className="grid min-w-0 grow basis-64 gap-1 [overflow-wrap:anywhere]">
              <div className="font-medium">
                <LocationCell place={store} />
                <span className="font-normal">
                  <AddressCell address={store.address} />
                </span>
              </div>
              <span className="text-sm text-quiet">
                {listed(
                  store.holds.map((thing) => t(`holds.${thing}`)),
                  t('nothing'),
                )}
                {store.first_seen !== null && store.last_seen !== null && (
                  <>
                    {' · '}
                    {t.rich('off.seen', {
                      first: () => <Time key="first" at={store.first_seen ?? ''} isDay />,
                      last: () => <Time key="last" at={store.last_seen ?? ''} isDay />,
                    })}
                  </>
                )}
              </span>
            </div>
            {isAdmin && (
              <Button
                tone="plain"
                size="small"
                aria-label={t('off.retireNamed', { name: called(store) })}
                onClick={() => {
                  setTold('')
                  setRetiring(store)
                }}
              >
                {t('off.retire')}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {!isAdmin && <p className="text-sm text-quiet">{t('off.auditor')}</p>}
      {retiring && (
        <RetireDialog
          store={retiring}
          name={called(retiring)}
          close={() => setRetiring(undefined)}
          done={() => {
            setTold(t('off.done', { name: called(retiring) }))
            setRetiring(undefined)
          }}
        />
      )}
    </div>
  )
}
