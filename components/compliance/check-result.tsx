import { useFormatter, useTranslations } from 'next-intl'
import { mayOpen, pageAt } from '#components/frame/pages.ts'
import { durationText } from '#components/ui/duration.ts'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import type { CheckView } from '#lib/domains/compliance/contract.ts'
import { checkKeyOf, isTime, isWord, problemKeyOf, remedyOf } from './check-words.ts'
import { isProblem, ResultTag } from './result-tag.tsx'

/** A link to the page with details, or the text with the roles that may open it if the reader's role may not. */
function Evidence({ address, text, role }: { address: string; text: string; role: Role }) {
  const t = useTranslations('compliance')
  const format = useFormatter()
  const page = pageAt(address)
  if (page === undefined || mayOpen(page, role))
    return (
      <TextLink href={address} className="inline-block py-0.5">
        {text}
      </TextLink>
    )
  return (
    <span>{t('evidenceOf', { text, roles: format.list((page.roles ?? []).map((one) => t(`roles.${one}`))) })}</span>
  )
}

/** What the check found, with links to lists of exactly these records. */
function Problems({ problems, role }: { problems: CheckView['problems']; role: Role }) {
  const t = useTranslations('compliance')
  return (
    <ul className="flex flex-wrap items-baseline gap-x-4 font-medium">
      {problems.map(({ problem, count, page }) => {
        const text = t(`problems.${problemKeyOf(problem)}`, { count })
        return (
          <li key={problem} data-problem={problem}>
            {page === null ? text : <Evidence address={page} text={text} role={role} />}
          </li>
        )
      })}
      {problems.some(({ page }) => page !== null) && <li className="font-normal text-quiet">{t('causes')}</li>}
    </ul>
  )
}

/** The sentence of a check with its numbers and names. */
function useSentence({ name, state, fault, facts, numbers }: CheckView): string {
  const t = useTranslations('compliance')
  const { space } = usePunctuation()
  const format = useFormatter()
  const key = checkKeyOf(name)
  if (fault) return t(`faults.${fault}`)
  if (!key) return name
  const words = Object.entries(facts).flatMap(([fact, text]) => [
    [fact, isWord(text) ? t(`words.${text}`) : text],
    [`${fact}_code`, text],
  ])
  const sentence = t(`of.${key}`, {
    ...Object.fromEntries(words),
    // A number and the names that it counts have the same key.
    ...numbers,
    median: durationText(format, numbers.seconds ?? 0),
    state,
    unanswered_names: facts.unanswered ?? '',
    missing_names: facts.missing ?? '',
    kind_names: facts.kinds ?? '',
  })
  const { minutes = 0 } = numbers
  return minutes > 0 ? `${sentence}${space}${t('overdue', { minutes })}` : sentence
}

/** The result of one check: a sentence with its numbers, what to do about a problem, and where to look. */
export function CheckResult({ check, showsState, role }: { check: CheckView; showsState: boolean; role: Role }) {
  const t = useTranslations('compliance')
  const { colon } = usePunctuation()
  const sentence = useSentence(check)
  const remedy = remedyOf(check.name)
  const times = Object.entries(check.times).flatMap(([name, at]) => (at !== null && isTime(name) ? [{ name, at }] : []))
  return (
    <li className="grid gap-1" data-check={check.name} data-state={check.state}>
      <p>
        {showsState && (
          <>
            <ResultTag state={check.state} />{' '}
          </>
        )}
        {sentence}
      </p>
      {check.problems.length > 0 && <Problems problems={check.problems} role={role} />}
      {isProblem(check.state) && remedy && <p className="font-medium">{t(`do.${remedy.key}`, { job: remedy.job })}</p>}
      {(times.length > 0 || check.page) && (
        <p className="flex flex-wrap items-center gap-x-4 text-sm text-quiet">
          {times.map(({ name, at }) => (
            <span key={name}>
              {`${t(`times.${name}`)}${colon}`}
              <Time at={at} relative />
            </span>
          ))}
          {check.page && <Evidence address={check.page} text={t('evidence')} role={role} />}
        </p>
      )}
    </li>
  )
}
