import { useLocale, useMessages, useTranslations } from 'next-intl'
import { besideChinese, tidyChinese, usePunctuation } from '#components/ui/punctuation.ts'
import { isRevocation } from '#lib/domains/audit/rules.ts'
import type { AuditEntry, ListedAct, ListedActPart } from './audit-pages.ts'

type Told = Pick<
  AuditEntry,
  'action' | 'agentId' | 'resourceType' | 'resourceId' | 'details' | 'actorName' | 'resourceName'
>
type Messages = ReturnType<typeof useMessages>['acts']

const system = 'system:'
const person = 'user:'
/** Jobs and rules that act, by the beginning of their name. */
const actors = [
  ['admin.', 'operator'],
  ['erasure', 'erasure'],
  ['erased', 'erasure'],
  ['retention', 'retention'],
  ['exports', 'exports'],
  ['privacy.clock', 'clock'],
  ['reputation', 'reputation'],
  ['knowledge.quarantine', 'quarantine'],
  ['rate-limit', 'limit'],
  ['first-run', 'first'],
  ['demo', 'demo'],
] as const

const textIn = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
const listIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(textIn) : textIn(value).split(',').filter(Boolean)
/** A long id without its middle. */
const shortened = (id: string): string => (id.length > 20 ? `${id.slice(0, 8)}…${id.slice(-5)}` : id)
/** Text in a right-to-left script, so that it does not reorder the sentence. */
const isolated = (name: string): string =>
  /\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}/u.test(name) ? `\u2068${name}\u2069` : name

type Key<Group extends 'operations' | 'events' | 'system' | 'plain'> = `${Group}.${keyof Messages[Group] & string}`
export type SentenceKey = Key<'operations'> | Key<'events'> | Key<'system'> | Key<'plain'> | 'listed'

const has = <Group extends 'operations' | 'events' | 'system' | 'plain'>(
  messages: Pick<Messages, Group>,
  group: Group,
  name: string,
): name is keyof Messages[Group] & string => Object.hasOwn(messages[group], name)

/** No space follows: 系统更新了. */
const endsInChinese = /[\p{Script=Han}）]$/u
const lists = ['query', 'list', 'actors', 'minders', 'search']

/**
 * The message of the sentence about an entry: of the event of a request, otherwise of the operation or of what a job did, otherwise of the
 * action.
 */
export function sentenceKeyOf(
  messages: Pick<Messages, 'operations' | 'events' | 'system' | 'plain'>,
  { action, agentId, resourceType, resourceId, details = {} }: Told,
): SentenceKey {
  const event = textIn(details.event)
  if (resourceType === 'request' && event !== '') {
    if (event === 'received' && details.channel === 'form') return 'events.received_form'
    if (event === 'received' && ['mail', 'manager'].includes(textIn(details.channel))) return 'events.received_other'
    if (has(messages, 'events', event)) return `events.${event}`
  }
  if (isRevocation(resourceType, details) && agentId.startsWith(system)) return 'system.token-update'
  const plain = `${resourceType}-${action}`
  if (agentId.startsWith(system))
    // A job names what it deleted by a reason instead of an id.
    for (const known of [`${plain}-${resourceId}`, plain]) if (has(messages, 'system', known)) return `system.${known}`
  if (action === 'read') return lists.includes(resourceId) ? 'listed' : 'plain.read'
  const operation = textIn(details.operation)
  if (has(messages, 'operations', operation)) return `operations.${operation}`
  if (isRevocation(resourceType, details)) return 'system.token-update'
  return has(messages, 'plain', action) ? `plain.${action}` : 'plain.update'
}

/** What happened, in one sentence with names. Needs the messages `acts` and `roles`. */
export function useSentences() {
  const t = useTranslations('acts')
  const words = useMessages()
  const messages = words.acts
  const kind = useTranslations('requestNames.kinds')
  const role = useTranslations('roles.names')
  const { list } = usePunctuation()
  const isChinese = useLocale() === 'zh'
  const inside = (value: string): string => (isChinese ? besideChinese(value) : value)
  const whole = (sentence: string, who = ''): string =>
    isChinese ? tidyChinese(endsInChinese.test(who) ? sentence.replace(`${who} `, () => who) : sentence) : sentence

  const actorOf = ({ agentId, actorName }: Pick<Told, 'agentId' | 'actorName'>): string => {
    if (actorName !== null) return isolated(actorName)
    if (agentId === 'anonymous') return t('who.nobody')
    if (agentId.startsWith(person)) return t('who.deleted', { id: shortened(agentId.slice(person.length)) })
    if (!agentId.startsWith(system)) return shortened(agentId)
    const name = agentId.slice(system.length)
    return t(`who.${actors.find(([beginning]) => name.startsWith(beginning))?.[1] ?? 'system'}`)
  }
  const typeOf = (type: string): keyof Messages['things'] => (isKey(messages.things, type) ? type : 'other')
  const thingOf = ({ resourceType, resourceId, resourceName, details }: Told, count: number): string => {
    const type = typeOf(resourceType)
    const counted = typeof details?.count === 'number' && !/_/.test(resourceId) ? details.count : count
    if (counted > 1) return t('counted', { count: counted, things: t(`things.${type}.all`) })
    if (resourceType === 'request' && resourceName !== null) return t('requestOf', { name: isolated(resourceName) })
    return t(`things.${type}.one`, { name: isolated(resourceName ?? shortened(resourceId)) })
  }

  /** The sentence for the entries of one act that have the same kind. */
  const sentenceOf = ({ entry, count }: ListedActPart, { names = {}, tries = 1 }: Partial<ListedAct> = {}): string => {
    const details = entry.details ?? {}
    const who = actorOf(entry)
    const named = (id: unknown): string => {
      const text = textIn(id)
      return text === '' ? t('somebody') : isolated(names[text] ?? shortened(text))
    }
    const translated = (value: string): string => (isKey(words.roles.names, value) ? role(value) : value)
    if (tries > 1) return whole(t('tried', { who, what: inside(thingOf(entry, 1)), tries }), who)
    const key = sentenceKeyOf(messages, entry)
    return whole(
      t(key, {
        who,
        what: key === 'listed' ? t(`things.${typeOf(entry.resourceType)}.all`) : inside(thingOf(entry, count)),
        agent: inside(named(details.agent_id)),
        target: inside(named(details.target)),
        role: translated(textIn(details.role)),
        from: translated(textIn(details.from)),
        to: translated(textIn(details.to)),
        decision: textIn(details.decision),
        valid: textIn(details.valid),
        on: textIn(details.on),
        count: typeof details.count === 'number' ? details.count : count,
        fields: list(listIn(details.fields).map((field) => field.replaceAll('_', ' '))),
        kinds: list(listIn(details.kinds).map((name) => (isKey(words.requestNames.kinds, name) ? kind(name) : name))),
      }),
      who,
    )
  }
  return { sentenceOf, actorOf }
}
const isKey = <Words extends object>(words: Words, name: string): name is keyof Words & string =>
  Object.hasOwn(words, name)
