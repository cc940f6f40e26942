import createNextIntlPlugin from 'next-intl/plugin'

/** @type {import('next').NextConfig} */
const config = {
  // A proxy in front compresses better; here it would cost a fifth of the throughput.
  compress: false,
  poweredByHeader: false,
  reactStrictMode: true,
  // Title and robots stand in the head of every answer, and are not sent after it.
  htmlLimitedBots: /.*/,
  // Read at run time, from node_modules: they find their own files, or keep state that must be there once.
  serverExternalPackages: [
    'graphile-worker',
    'nodemailer',
    'pdfkit',
    'rate-limiter-flexible',
    '@redis/client',
    'neo4j-driver',
    '@aws-sdk/client-s3',
    '@google-cloud/storage',
    '@langchain/core',
    '@langchain/langgraph-checkpoint',
    '@langchain/langgraph-checkpoint-postgres',
  ],
  // `npm run check` does it for all files at once; a start need not wait for it.
  typescript: { ignoreBuildErrors: true },
  // A page that is not open to the reader's role answers 403.
  experimental: { authInterrupts: true },
}

export default createNextIntlPlugin('./i18n/request.ts')(config)
