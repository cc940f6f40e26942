import type { NextRequest } from 'next/server'
import NextAuth from 'next-auth'
import { app } from '#lib/app-instance.ts'

type Context = { params: Promise<{ nextauth: string[] }> }

const handler = (request: NextRequest, context: Context): Promise<Response> =>
  NextAuth(request, context, app.authOptions(request.headers))

export { handler as GET, handler as POST }
