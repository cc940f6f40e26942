import { useFormatter, useTranslations } from 'next-intl'
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

/** Where data about the person is, with the number of items by category. */
function Held({ held }: Pick<PersonData, 'held'>) {
  const t = useTranslations('person.held')
  const format = useFormatter()
  const names = dataNamesIn(useTranslations('dataNames'))
  const total = held.reduce((sum, { count }) => sum + count, 0)
  return (
    <Section id="held" title={t('title')} lead={t('summary', { count: total })}>
      <div className="gap-3 sm:columns-2">
        {[...Map.groupBy(held, ({ store }) => store)].map(([store, lines]) => (
          <section
            key={store}
            aria-label={names.place(store)}
            className="mb-3 grid break-inside-avoid gap-1 rounded-box border border-line bg-raised px-4 py-3"
          >
            <h3 className="flex justify-between gap-2 font-semibold">
              <span>{names.place(store)}</span>
              <span className="text-quiet tabular-nums">
                {format.number(lines.reduce((sum, { count }) => sum + count, 0))}
              </span>
            </h3>
            <ul className="text-sm">
              {lines
                .toSorted((one, other) => other.count - one.count)
                .map(({ holder, count }) => (
                  <li key={holder} className="flex justify-between gap-2 py-0.5">
                    <span className="min-w-0 wrap-anywhere">{names.records(holder)}</span>
                    <span className="text-quiet tabular-nums">{format.number(count)}</span>
                  </li>
                ))}
            </ul>
          </section>
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
        <ul className="divide-y divide-line border-y border-line">
          {requests.data.map(({ id, kinds, state, received_at }) => (
            <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
              <TextLink href={`/admin/requests/${id}`}>{list(kinds.map((kind) => names(`kinds.${kind}`)))}</TextLink>
              <Badge tone={requestTones[state]}>{names(`states.${state}`)}</Badge>
              <span className="grow text-right text-sm text-quiet">
                <Time at={received_at} show="relative" />
              </span>
            </li>
          ))}
        </ul>
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
        <ol className="divide-y divide-line border-y border-line">
          {changes.map((act) => {
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
        <ReaderTable readers={data.readers} />
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
