import { app, route } from '#lib/app.ts'

export const GET = route(app.holds.list)
export const POST = route(app.holds.create)
