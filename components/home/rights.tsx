import { useTranslations } from 'next-intl'

const rights = ['see', 'export', 'correct', 'erase'] as const

/** The rights that people have concerning their data. */
export function Rights() {
  const t = useTranslations('home.rights')
  return (
    <ul className="grid list-disc gap-1.5 pl-5 marker:text-quiet">
      {rights.map((right) => (
        <li key={right}>{t.rich(right, { b: (text) => <strong className="font-semibold">{text}</strong> })}</li>
      ))}
    </ul>
  )
}
