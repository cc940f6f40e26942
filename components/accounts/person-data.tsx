import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useSentences } from '#components/audit/sentences.ts'
import { requestTones } from '#components/requests/request-tones.ts'
import { dataNamesIn } from '#components/stores/data-names.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Card, Section } from '#components/ui/page.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { readPerson } from '#lib/domains/console/contract.ts'
import type { listAllRequests } from '#lib/domains/privacy-requests/queue/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { ReaderTable } from './reader-table.tsx'

export type PersonData = Output<typeof readPerson>['data']
type Requests = Output<typeof listAllRequests>

/** Rows of a list that are shown immediately; the others are collapsed. */
const shownRows = 5

/** A list of which only the first rows are open. `list` renders some of the rows. */
function Shortened<T>({ rows, list }: { rows: readonly T[]; list(rows: readonly T[]): ReactNode }) {
  const t = useTranslations('person')
  const rest = rows.slice(shownRows)
  return (
    <>
      {list(rows.slice(0, shownRows))}
      {rest.length > 0 && (
        <details className="grid gap-3">
          <summary className="min-h-6 w-fit cursor-pointer text-quiet">{t('more', { count: rest.length })}</summary>
          {list(rest)}
        </details>
      )}
    </>
  )
}

/** Where data about the person is. A place opens to the number of items by category. */
function Held({ held }: Pick<PersonData, 'held'>) {
  const t = useTranslations('person.held')
  const format = useFormatter()
  const names = dataNamesIn(useTranslations('dataNames'))
  const total = held.reduce((sum, { count }) => sum + count, 0)
  return (
    <Section id="held" title={t('title')} lead={t('summary', { count: total })}>
      <div className="gap-3 sm:columns-2">
        {[...Map.groupBy(held, ({ store }) => store)].map(([store, lines]) => (
          <details key={store} className="mb-3 break-inside-avoid rounded-box border border-line bg-raised">
            <summary className="cursor-pointer px-4 py-3">
              <span className="inline-flex w-[calc(100%-1.5rem)] flex-wrap justify-between gap-x-3 align-top">
                <span className="font-semibold">{names.place(store)}</span>
                <span className="text-quiet tabular-nums">
                  {t('place', { count: lines.reduce((sum, { count }) => sum + count, 0), categories: lines.length })}
                </span>
              </span>
            </summary>
            <ul className="px-4 pb-3 text-sm">
              {lines
                .toSorted((one, other) => other.count - one.count)
                .map(({ holder, count }) => (
                  <li key={holder} className="flex justify-between gap-2 py-0.5">
                    <span className="min-w-0 wrap-anywhere">{names.records(holder)}</span>
                    <span className="text-quiet tabular-nums">{format.number(count)}</span>
                  </li>
                ))}
            </ul>
          </details>
        ))}
      </div>
      <p className="text-sm text-quiet">{t('counts')}</p>
    </Section>
  )
}

function PersonRequests({ requests, accountId }: { requests: Requests; accountId: string }) {
  const t = useTranslations('person.requests')
  const names = useTranslations('requestNames')
  const { list } = usePunctuation()
  return (
    <Section
      id="requests"
      title={t('title')}
      actions={<TextLink href={`/admin/requests?q=${accountId}&open=all`}>{t('all')}</TextLink>}
    >
      {requests.data.length === 0 ? (
        <p className="text-quiet">{t('none')}</p>
      ) : (
        <Shortened
          rows={requests.data}
          list={(rows) => (
            <ul className="divide-y divide-line border-y border-line">
              {rows.map(({ id, kinds, state, received_at }) => (
                <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
                  <TextLink href={`/admin/requests/${id}`}>
                    {list(kinds.map((kind) => names(`kinds.${kind}`)))}
                  </TextLink>
                  <Badge tone={requestTones[state]}>{names(`states.${state}`)}</Badge>
                  <span className="grow text-right text-sm text-quiet">
                    <Time at={received_at} show="relative" />
                  </span>
                </li>
              ))}
            </ul>
          )}
        />
      )}
    </Section>
  )
}

function Changes({ changes, accountId }: { changes: PersonData['changes']; accountId: string }) {
  const t = useTranslations('person.changes')
  const { sentenceOf } = useSentences()
  return (
    <Section
      id="timeline"
      title={t('title')}
      actions={<TextLink href={`/admin/audit?resource_id=${accountId}`}>{t('all')}</TextLink>}
    >
      {changes.length === 0 ? (
        <p className="text-quiet">{t('none')}</p>
      ) : (
        <Shortened
          rows={changes}
          list={(acts) => (
            <ol className="divide-y divide-line border-y border-line">
              {acts.map((act) => {
                const [first] = act.parts
                if (!first) return null
                return (
                  <li
                    key={first.entry.id}
                    className="grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-4 py-2 wrap-anywhere"
                  >
                    <span>{sentenceOf(first, act)}</span>
                    <span className="text-sm text-quiet">
                      <Time at={first.entry.timestamp} show="relative" />
                    </span>
                  </li>
                )
              })}
            </ol>
          )}
        />
      )}
    </Section>
  )
}

/** What is stored about a person and what happened with it, for admins: counts and acts, without content. */
export function PersonData({ data, requests, accountId }: { data: PersonData; requests: Requests; accountId: string }) {
  const t = useTranslations('person')
  return (
    <>
      <PersonRequests requests={requests} accountId={accountId} />
      <Held held={data.held} />
      <Section id="readers" title={t('readers.title')} lead={t('readers.text')}>
        <Shortened rows={data.readers} list={(readers) => <ReaderTable readers={readers} />} />
      </Section>
      <Changes changes={data.changes} accountId={accountId} />
    </>
  )
}

/** Agents, holds and receipts, beside the data. */
export function PersonFacts({ data }: { data: PersonData }) {
  const t = useTranslations('person')
  const row = 'flex flex-wrap items-baseline justify-between gap-x-3 py-1'
  return (
    <>
      <Card title={t('agents.title')}>
        {data.agents.length === 0 ? (
          <p className="text-quiet">{t('agents.none')}</p>
        ) : (
          <ul className="max-h-60 overflow-y-auto">
            {data.agents.map(({ id, name }) => (
              <li key={id} className={row}>
                <TextLink href={`/admin/tokens/${encodeURIComponent(id)}`} className="min-w-0 wrap-anywhere">
                  <bdi>{name ?? id}</bdi>
                </TextLink>
              </li>
            ))}
          </ul>
        )}
        {data.agents_total > data.agents.length && (
          <p className="text-sm text-quiet">{t('agents.more', { count: data.agents_total - data.agents.length })}</p>
        )}
      </Card>
      <Card title={t('holds.title')}>
        {data.holds.length === 0 ? (
          <p className="text-quiet">{t('holds.none')}</p>
        ) : (
          <ul>
            {data.holds.map((id) => (
              <li key={id} className={row}>
                <TextLink href={`/admin/holds?q=${id}`}>
                  <span className="font-mono text-sm">{`${id.slice(0, 10)}…${id.slice(-4)}`}</span>
                </TextLink>
              </li>
            ))}
          </ul>
        )}
      </Card>
      <Card title={t('receipts.title')}>
        {data.receipts.length === 0 ? (
          <p className="text-quiet">{t('receipts.none')}</p>
        ) : (
          <ul>
            {data.receipts.map(({ receipt_id: id, kind, deleted_at: at, signed_at: signed }) => (
              <li key={id} className={row}>
                {signed === null ? (
                  <span>{t(`receipts.kinds.${kind}`)}</span>
                ) : (
                  <TextLink href={`/receipts/${id}`}>{t(`receipts.kinds.${kind}`)}</TextLink>
                )}
                <span className="text-sm text-quiet">
                  <Time at={at} show="relative" />
                </span>
              </li>
            ))}
          </ul>
        )}
      </Card>
    </>
  )
}
