import type { Metadata } from 'next'
import { getLocale, getTranslations } from 'next-intl/server'
import { groups, lineKeyOf, noticeLines } from '#components/privacy/notice-lines.ts'
import { type NoticeEntry, NoticeList, Points } from '#components/privacy/notice-list.tsx'
import { dataNamesIn } from '#components/stores/data-names.ts'
import { FactList } from '#components/ui/facts.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { punctuationOf } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { type Env, publicUrl, readEnv } from '#lib/config/env.ts'
import type { StoreLocations } from '#lib/config/locations.ts'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { processors, storeDescriptions, whereabouts } from './places.ts'
import { inventoryTerms } from './terms.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('privacy'))('title') })

const beside = ['windows', 'anonymous', 'faults'] as const
const rights = [
  'access',
  'rectification',
  'erasure',
  'restriction',
  'portability',
  'objection',
  'withdraw',
  'complain',
  'court',
] as const

const dataNames = async () => dataNamesIn(await getTranslations('dataNames'))

/** The stored data with its retention periods: one entry per personal data source and retained record, with the periods in force. */
async function heldEntries(env: Env) {
  const [t, names, terms] = await Promise.all([getTranslations('privacy.held'), dataNames(), inventoryTerms()])
  const lines = noticeLines(app.dataSources, app.retainedRecords)
  const entryOf = ({ name, what, purpose, kept }: (typeof lines)['proof'][number]): NoticeEntry => {
    const key = lineKeyOf(name)
    // A data source without a translation is shown in its own (English) words.
    if (key === undefined) return { key: name, what, text: purpose, term: kept }
    return { key, what: names.records(name), text: t(`lines.${key}.text`), term: t(`lines.${key}.term`, terms) }
  }
  const of = (key: (typeof beside)[number] | 'backups') => ({
    key,
    what: t(`beside.${key}.what`),
    text: t(`beside.${key}.text`),
  })
  return [
    ...groups.map((group) => ({ group, entries: lines[group].map(entryOf) })),
    {
      group: 'beside' as const,
      entries: [
        ...beside.map((key) => ({ ...of(key), term: t(`beside.${key}.term`) })),
        {
          ...of('backups'),
          term: env.KP_BACKUP_DAYS === undefined ? t('noTerm') : t('days', { days: env.KP_BACKUP_DAYS }),
        },
      ],
    },
  ]
}

/** Each store with its number of data sources, and the external services that receive personal data. */
async function placeFacts(storeLocations: StoreLocations, counts: ReadonlyMap<string, number>, isEuAlone: boolean) {
  const t = await getTranslations('privacy.where')
  const [at, said, names, locale] = await Promise.all([whereabouts(), storeDescriptions(), dataNames(), getLocale()])
  const { space } = punctuationOf(locale)
  const stores = [...counts].map(([store, count]): [string, string] => [
    names.place(store),
    `${t('kinds', { place: said(store), count })}${space}${at(store)}`,
  ])
  const used = app.assessedLocations.map(({ name }) => name)
  const unstated = app.assessedLocations.filter(({ region }) => region === null).map(({ name }) => names.place(name))
  const regions =
    unstated.length === used.length
      ? t('regions.none')
      : isEuAlone
        ? t('regions.eu')
        : unstated.length > 0
          ? t('regions.some', { places: new Intl.ListFormat(locale).format(unstated) })
          : t('regions.all')
  return [
    ...stores,
    [names.place('mail'), `${t(`mail.${storeLocations.mail}`)}${space}${at('mail')}`],
    [names.place('limits'), `${t(`limits.${storeLocations.limits}`)}${space}${at('limits')}`],
    ...(used.includes('backups') ? [[names.place('backups'), `${t('backups')}${space}${at('backups')}`] as const] : []),
    ...processors
      .filter((name) => used.includes(name))
      .map((name) => [names.place(name), `${t(`processors.${name}`)}${space}${at(name)}`] as const),
    [t('readers.name'), t('readers.text')],
    [t('regions.name'), regions],
  ] as const
}

const isUsed = (...names: string[]): boolean => app.assessedLocations.some(({ name }) => names.includes(name))

async function Recipients() {
  const t = await getTranslations('privacy.where')
  return (
    <>
      <p>{t(isUsed('llm', 'posthog') ? 'nobodyElse' : 'nobody')}</p>
      <p>{t.rich('telemetry', { link: (text) => <TextLink href="/telemetry">{text}</TextLink> })}</p>
    </>
  )
}

async function LegalBases({ basis }: { basis: Env['KP_LAWFUL_BASIS'] }) {
  const t = await getTranslations('privacy.why')
  const keys = [
    basis,
    'account',
    'law',
    'office',
    ...(isUsed('posthog') ? (['statistics'] as const) : []),
    'only',
  ] as const
  return <Points points={keys.map((key) => [key, t(key)] as const)} />
}

/** The privacy notice that registrations refer to, generated from the data sources and settings of this installation. */
export default async function PrivacyPage() {
  const t = await getTranslations('privacy')
  const env = readEnv()
  const named = [...app.dataSources, ...app.retainedRecords]
  const counts = new Map<string, number>()
  for (const { store } of named) counts.set(store, (counts.get(store) ?? 0) + 1)
  const [held, isFormOn, facts] = await Promise.all([
    heldEntries(env),
    // The notice is also shown while the database does not answer.
    app.settings.requestForm().then(
      ({ is_on }) => is_on,
      () => false,
    ),
    placeFacts(app.storeLocations, counts, env.KP_RESIDENCY === 'eu'),
  ])
  const email = env.KP_PRIVACY_EMAIL
  const grace = { tokens: env.KP_GRACE_TOKENS, signIn: env.KP_GRACE_SIGN_IN }
  return (
    <Page
      title={t('title')}
      lead={
        <>
          <p>{t('lead', { url: publicUrl(env), version: noticeVersion })}</p>
          <p className="[overflow-wrap:anywhere]">{email === undefined ? t('noContact') : t('contact', { email })}</p>
        </>
      }
    >
      <Section id="held" title={t('held.title')} lead={t('held.lead', { lines: named.length, stores: counts.size })}>
        {held.map(({ group, entries }) => (
          <NoticeList
            key={group}
            id={`held-${group}`}
            title={t(`held.groups.${group}`)}
            howLong={t('held.howLong')}
            entries={entries}
          />
        ))}
        <p>{t('held.browser')}</p>
      </Section>
      <Section id="where" title={t('where.title')}>
        <FactList facts={facts} />
        <Recipients />
      </Section>
      <Section id="why" title={t('why.title')}>
        <LegalBases basis={env.KP_LAWFUL_BASIS} />
      </Section>
      <Section id="never" title={t('never.title')}>
        <Points
          points={(['sold', 'kyc', 'selfHosted', 'machine'] as const).map((key) => [key, t(`never.${key}`)] as const)}
        />
      </Section>
      <Section id="rights" title={t('rights.title')}>
        <p>{email === undefined ? t('rights.how') : t('rights.howByMail', { email })}</p>
        {isFormOn && <p>{t.rich('rights.form', { form: (words) => <TextLink href="/request">{words}</TextLink> })}</p>}
        <p>{t('rights.when')}</p>
        <Points points={rights.map((key) => [key, t(`rights.${key}`, grace)] as const)} />
      </Section>
      <Section id="ccpa" title={t('ccpa.title')}>
        <p>{t('ccpa.rights')}</p>
        <p>{t('ccpa.optOut')}</p>
        <p>{t('ccpa.same')}</p>
      </Section>
    </Page>
  )
}
