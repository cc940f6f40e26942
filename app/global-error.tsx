'use client'

import './globals.css'

/** Rendered when the root layout fails. Translations are then unavailable, so both languages are written here. */
export default function EverythingFailed({ error }: { error: Error & { digest?: string } }) {
  return (
    <html lang="en">
      <head>
        <title>KnowledgePulse</title>
      </head>
      <body className="font-sans">
        <main className="mx-auto grid max-w-md gap-4 px-4 py-12">
          <h1 className="text-title font-semibold">This page could not be made</h1>
          <p>
            Nothing that you saved is lost. Load the page again; if it stays like this, tell whoever runs this
            installation.
          </p>
          <p lang="zh">页面暂时无法显示。您保存的内容没有丢失。请重新加载；如果问题依旧，请联系此系统的管理者。</p>
          {error.digest && <p className="font-mono text-sm text-quiet">{error.digest}</p>}
          <p>
            <a href="/" className="text-accent underline">
              KnowledgePulse
            </a>
          </p>
        </main>
      </body>
    </html>
  )
}
