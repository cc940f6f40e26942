import { useFormatter, useTranslations } from 'next-intl'
import { mayOpen, pageAt } from '#components/frame/pages.ts'
import { Tag, type TagTone } from '#components/ui/tag.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import type { CheckView, LineView } from '#lib/domains/compliance/contract.ts'
import { checkKeyOf, isTime, isWord } from './check-words.ts'

type State = CheckView['state']
const tones: Record<State, TagTone> = {
  holds: 'accent',
  attention: 'amber',
  fails: 'red',
  not_applicable: 'plain',
  unknown: 'amber',
}
const wantsAHand: readonly State[] = ['attention', 'fails']

function StateTag({ state }: { state: State }) {
  const t = useTranslations('compliance.states')
  return <Tag tone={tones[state]}>{t(state)}</Tag>
}

/** A link to the page with details, or the roles that may open it if the reader's role may not. */
function Evidence({ address, role }: { address: string; role: Role }) {
  const t = useTranslations('compliance')
  const format = useFormatter()
  const page = pageAt(address)
  if (page === undefined || mayOpen(page, role)) return <TextLink href={address}>{t('evidence')}</TextLink>
  return <span>{t('evidenceOf', { roles: format.list((page.roles ?? []).map((one) => t(`roles.${one}`))) })}</span>
}

/** The result of one check: a sentence with its numbers, what to do if anything, and where to look. */
function CheckWords({ check, isAlone, role }: { check: CheckView; isAlone: boolean; role: Role }) {
  const t = useTranslations('compliance')
  const key = checkKeyOf(check.name)
  const facts = Object.fromEntries(
    Object.entries(check.facts).map(([name, text]) => [name, isWord(text) ? t(`words.${text}`) : text]),
  )
  const values = {
    ...facts,
    // A number and the names that it counts have the same key.
    ...check.numbers,
    unanswered_names: check.facts.unanswered ?? '',
    missing_names: check.facts.missing ?? '',
    kind_names: check.facts.kinds ?? '',
    mode: check.facts.mode ?? '',
  }
  const times = Object.entries(check.times).flatMap(([name, at]) => (at !== null && isTime(name) ? [{ name, at }] : []))
  return (
    <li className="grid gap-1" data-check={check.name} data-state={check.state}>
      <p>
        {!isAlone && (
          <>
            <StateTag state={check.state} />{' '}
          </>
        )}
        {check.fault ? t(`faults.${check.fault}`) : key ? t(`of.${key}.text`, values) : check.name}
      </p>
      {wantsAHand.includes(check.state) && key && <p className="font-medium">{t(`of.${key}.do`)}</p>}
      <p className="flex flex-wrap gap-x-4 text-sm text-quiet">
        {times.map(({ name, at }) => (
          <span key={name}>
            {t(`times.${name}`)}: <Time at={at} relative />
          </span>
        ))}
        {check.page && <Evidence address={check.page} role={role} />}
        <span>{t('took', { milliseconds: check.took_ms })}</span>
      </p>
    </li>
  )
}

/** Every promise with its current check results. */
export function ComplianceLines({ lines, role }: { lines: readonly LineView[]; role: Role }) {
  const t = useTranslations('compliance')
  return (
    <ol className="divide-y divide-line border-y border-line">
      {lines.map(({ line, state, checks }) => (
        <li
          key={line}
          data-line={line}
          data-state={state}
          className="grid gap-x-8 gap-y-3 py-4 sm:grid-cols-[15rem_1fr]"
        >
          <div className="grid content-start justify-items-start gap-1.5">
            <h2 className="font-semibold">{t(`lines.${line}.title`)}</h2>
            <StateTag state={state} />
            <p className="text-sm text-quiet">{t(`lines.${line}.text`)}</p>
          </div>
          <ul aria-label={t('checks')} className="grid content-start gap-3">
            {checks.map((check) => (
              <CheckWords key={check.name} check={check} isAlone={checks.length === 1} role={role} />
            ))}
          </ul>
        </li>
      ))}
    </ol>
  )
}
