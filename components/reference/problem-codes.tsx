import { useTranslations } from 'next-intl'
import { type ProblemCode, problems } from '#lib/kernel/problem.ts'

const codes = Object.keys(problems).filter((code): code is ProblemCode => code in problems)

/** All problem codes with explanations. The `type` of a problem document links here. */
export function ProblemCodes() {
  const t = useTranslations('problems')
  return (
    <dl className="grid gap-5">
      {codes.map((code) => (
        <div
          key={code}
          id={code}
          className="grid gap-1 rounded-box px-3 py-2 target:bg-accent-wash sm:grid-cols-[15.5rem_1fr] sm:gap-4"
        >
          <dt>
            <code className="font-mono text-[0.8125rem] font-medium">{code}</code>
            <span className="ml-2 text-quiet tabular-nums">{problems[code][0]}</span>
          </dt>
          <dd className="grid gap-1">
            <p className="font-medium">{t(`${code}.what`)}</p>
            <p className="text-quiet">{t(`${code}.do`)}</p>
          </dd>
        </div>
      ))}
    </dl>
  )
}
