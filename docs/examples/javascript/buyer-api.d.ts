// Generated out of api/openapi.yaml by `npm run generate`; do not edit.

export interface paths {
    "/api/v1/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Own orders in a sale, newest first
         * @description The list is of the read model: an order may be told, also as placed, a moment before it is listed.
         */
        get: operations["list-orders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orders/{order}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One own order, waiting for news if asked to */
        get: operations["get-order"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orders/{order}/cancellation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give one own order up
         * @description The units are on sale again. An order that is cancelled already is answered as it is; one that is paid, expired, rejected or
         *     still being recorded is 409 wrong_state, with the order.
         */
        post: operations["cancel-order"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orders/{order}/payment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Where and how to pay one own order
         * @description This never makes an order paid: only the provider's signed message, or an operator, does. Only an order that waits for its payment
         *     has somewhere to be paid; else 409, with the order: in_progress while it is being recorded, wrong_state when it is over or paid.
         */
        post: operations["pay-order"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orders/{order}/proof": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Proof that one own order stands in the log
         * @description Every event of the order with its Merkle path, and the signed seals that they are under. Anybody can check it with SHA-256 and
         *     Ed25519 alone: docs/seals.md says how. Answers 503 not_ready until every event of the order is under a seal, which takes about ten seconds.
         */
        get: operations["prove-order"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sales": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every sale, as buyers see it, but rehearsals that are over */
        get: operations["list-sales"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sales/{sale}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One sale, as buyers see it */
        get: operations["get-sale"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sales/{sale}/challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A proof of work for a ticket
         * @description A proof of work as ALTCHA's clients solve it: the number from 0 to maxnumber for which SHA-256 over salt and its decimal digits is
         *     challenge. It is good for five minutes, for this buyer and this sale. The more buyers ask, the harder they get. 404 not_found: none is asked for.
         */
        get: operations["get-challenge"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sales/{sale}/purchases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Buy
         * @description Send a SKU and a quantity, or up to 10 lines with a SKU each once: all of them are bought, or none.
         */
        post: operations["purchase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sales/{sale}/tickets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A ticket to buy with
         * @description For a sale that requires tickets: send it as Purchase-Ticket with the purchase. It is good for this buyer and this sale, until
         *     expires_at, and for one purchase that is accepted. Asked again, the same buyer gets the same ticket while it is good and unused.
         *
         *     425 too_early: opens_at is when tickets are given out, ten minutes before the sale opens. 409 sold_out: as many buyers have tickets as the sale
         *     gives out. 404 not_found: the sale needs no ticket. Where this server asks for a proof of work, solution is that of the challenge, in base64, and gives one ticket.
         */
        post: operations["get-ticket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ChallengeView: {
            /** @enum {string} */
            algorithm: "SHA-256";
            challenge: string;
            /** Format: int64 */
            maxnumber: number;
            salt: string;
            signature: string;
        };
        ItemView: {
            /** @example CNY */
            currency: string;
            /**
             * Format: date-time
             * @description When more units come on sale; left out where no more are planned
             */
            next_release_at?: string;
            /**
             * @description Decimal
             * @example 19.90
             */
            price: string;
            sku: string;
            /** @description Whether no unit was left a moment ago; only a purchase is judged exactly */
            sold_out: boolean;
            title: string;
        };
        NothingBody: Record<string, never>;
        OrderLine: {
            /** @description Decimal, of one unit */
            price: string | null;
            /** Format: int64 */
            quantity: number;
            sku: string;
        };
        OrderList: {
            /** @description Give it as cursor to read on; empty at the end */
            next_cursor: string;
            orders: components["schemas"]["OrderView"][];
        };
        OrderView: {
            /** @description Decimal */
            amount: string | null;
            currency: string | null;
            /** @description A sentence for people about a queued or rejected order, in the language of Accept-Language (en, zh) */
            detail: string | null;
            lines: components["schemas"]["OrderLine"][];
            order_id: string;
            /** Format: date-time */
            pay_by: string | null;
            /**
             * Format: date-time
             * @description When the log decided it
             */
            placed_at: string | null;
            /** @description Of a rejected order: guard, duplicate, limit, poison, lost */
            reason: string | null;
            refund_due: boolean;
            sale_id: string;
            /** @enum {string} */
            status: "queued" | "placed" | "paid" | "cancelled" | "expired" | "rejected";
            /** @description Of the purchase */
            trace_id: string;
            /**
             * Format: int64
             * @description Give it as after to wait for the next change
             */
            version: number;
            /**
             * @description What a queued order waits for: to be recorded, the gate, the log, or that its sale goes on after a pause
             * @enum {string|null}
             */
            waiting_for: "recorder" | "gate" | "log" | "sale" | null;
        };
        PaymentView: {
            /** @description Decimal */
            amount: string;
            currency: string;
            order_id: string;
            /**
             * Format: date-time
             * @description An order that is not paid by then expires
             */
            pay_by: string;
            /** @description Any of them, by name */
            providers: components["schemas"]["ProviderView"][];
            /** @enum {string} */
            status: "placed";
        };
        Problem: {
            /**
             * @description For programs; codes never change, new ones may come
             * @example sold_out
             * @enum {string}
             */
            code: "archived" | "below_reserved" | "busy" | "forbidden" | "idempotency_mismatch" | "in_progress" | "internal" | "invalid_request" | "limit_exceeded" | "method_not_allowed" | "not_eligible" | "not_ended" | "not_found" | "not_ready" | "not_reconciled" | "order_not_found" | "paused" | "rate_limited" | "sale_ended" | "sale_not_found" | "sku_not_found" | "sold_out" | "ticket_invalid" | "ticket_required" | "too_early" | "unauthenticated" | "version_conflict" | "wrong_state";
            /** @description A sentence for people, in the language of Accept-Language (en, zh) */
            detail: string;
            /** @description What is wrong, field by field; of more than 20 fields, 20 of them */
            errors?: components["schemas"]["ProblemField"][];
            /**
             * Format: date-time
             * @description With too_early: when the sale opens
             */
            opens_at?: string;
            /** @description With wrong_state: the order as it is */
            order?: components["schemas"]["OrderView"];
            order_id?: string;
            /** @description With every refusal of a purchase to a buyer who is known: a signed text that says by what it was told (sale, buyer as a hash, the gate's time, code, units left where that is known). Keep it: it answers later why */
            receipt?: string;
            /**
             * Format: int64
             * @description Try again after so many milliseconds
             */
            retry_after_ms?: number;
            /** Format: int64 */
            status: number;
            /** @description Short, in English, the same for every problem of this code */
            title: string;
            /** @description The same as X-Trace-Id */
            trace_id: string;
            /** @description urn:seckill:problem: and the code */
            type: string;
        };
        ProblemField: {
            /** @example lines[0].quantity */
            field: string;
            reason: string;
        };
        Proof: {
            events: components["schemas"]["ProvenEvent"][];
            /** @description Public keys of the seals; compare them with those that were published */
            keys: components["schemas"]["ProofKey"][];
            order_id: string;
            seals: components["schemas"]["Wire"][];
        };
        ProofKey: {
            /** @description Its id: the first 16 hexadecimal digits of its SHA-256 */
            key: string;
            /** @description Base64 of the 32 bytes of an Ed25519 key */
            public_key: string;
        };
        ProvenEvent: {
            event_id: string;
            hash: string;
            /** @description Base64 of the stored bytes */
            metadata: string;
            /** @description Hashes from the event to the root of its seal, nearest first */
            path: string[];
            /** @description Base64 of the stored bytes */
            payload: string;
            /** Format: int64 */
            position: number;
            /** @description Hash of the record before */
            previous: string;
            recorded_at: string;
            /** Format: int64 */
            schema: number;
            /**
             * Format: int64
             * @description Number of its seal
             */
            seal: number;
            stream: string;
            type: string;
            /** Format: int64 */
            version: number;
        };
        ProviderView: {
            name: string;
            url: string;
        };
        PurchaseAnswer: {
            /** @description A sentence for people about what it waits for, where a store is away, in the language of Accept-Language (en, zh) */
            detail?: string;
            order_id: string;
            /** @description Where to ask for the order; relative to this server */
            poll_url: string;
            /**
             * @description Why a rejected order was rejected
             * @enum {string}
             */
            reason?: "guard" | "duplicate" | "limit" | "poison" | "lost";
            /** @description true: the order was there before this request */
            repeat?: boolean;
            /** @enum {string} */
            status: "queued" | "placed" | "paid" | "cancelled" | "expired" | "rejected";
            trace_id: string;
            /**
             * @description What a queued order waits for: to be recorded, the gate, the log, or that its sale goes on after a pause
             * @enum {string}
             */
            waiting_for?: "recorder" | "gate" | "log" | "sale";
        };
        SaleList: {
            /** @description Give it as cursor to read on; left out at the end */
            next_cursor?: string;
            sales: components["schemas"]["SaleView"][];
        };
        SaleView: {
            /**
             * Format: date-time
             * @description When a page may let the button be pressed
             */
            clickable_at: string;
            /** Format: date-time */
            closes_at: string;
            id: string;
            items: components["schemas"]["ItemView"][];
            /** Format: int64 */
            limit_per_buyer: number;
            /** Format: date-time */
            opens_at: string;
            /** Format: date-time */
            server_time: string;
            /** @enum {string} */
            state: "scheduled" | "open" | "paused" | "ended" | "cleaned";
            /** @enum {string} */
            strategy: "postgres" | "redis-sync" | "redis-async";
            title: string;
            /** Format: int64 */
            version: number;
        };
        TicketBody: {
            /** @description Base64 over the JSON of a solved challenge, as ALTCHA's clients make it */
            solution?: string;
        };
        TicketView: {
            /** Format: date-time */
            expires_at: string;
            ticket: string;
        };
        Wire: {
            /** Format: int64 */
            count: number;
            /** Format: int64 */
            first: number;
            head: string;
            key: string;
            /** Format: int64 */
            last: number;
            /** Format: int64 */
            number: number;
            previous: string;
            root: string;
            sealed_at: string;
            signature: string;
            store: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    "list-orders": {
        parameters: {
            query: {
                sale: string;
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrderList"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-order": {
        parameters: {
            query?: {
                /** @description How long to wait for news, 0s to 30s */
                wait?: string;
                /** @description The version the caller has seen */
                after?: number;
            };
            header?: never;
            path: {
                order: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrderView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "cancel-order": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                order: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NothingBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrderView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "pay-order": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                order: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NothingBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaymentView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "prove-order": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                order: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Proof"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "list-sales": {
        parameters: {
            query?: {
                /** @description The most sales of a page */
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
            };
            header?: {
                /** @description ETags that the caller has */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "Cache-Control"?: string;
                    ETag?: string;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SaleList"];
                };
            };
            /** @description Not Modified: the caller has it */
            304: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-sale": {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags that the caller has */
                "If-None-Match"?: string;
            };
            path: {
                sale: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "Cache-Control"?: string;
                    ETag?: string;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SaleView"];
                };
            };
            /** @description Not Modified: the caller has it */
            304: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not Found */
            404: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-challenge": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sale: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChallengeView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Early */
            425: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    purchase: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes a repeat of this request meet its first answer; required where a buyer may have several orders */
                "Idempotency-Key"?: string;
                /** @description Where the sale requires a ticket: see the tickets of a sale */
                "Purchase-Ticket"?: string;
            };
            path: {
                sale: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    quantity: number;
                    sku: string;
                } | {
                    lines: {
                        quantity: number;
                        sku: string;
                    }[];
                };
            };
        };
        responses: {
            /** @description A repeat: the order that was there before, with its status of now */
            200: {
                headers: {
                    /** @description Where to ask for the order */
                    Location?: string;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PurchaseAnswer"];
                };
            };
            /** @description Placed: the log has it (strategies redis-sync and postgres, or where the answer waited for the record) */
            201: {
                headers: {
                    /** @description Where to ask for the order */
                    Location?: string;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PurchaseAnswer"];
                };
            };
            /** @description Accepted: status queued, to be asked for; or, where the answer waited for the record, rejected with its reason: nothing was sold then */
            202: {
                headers: {
                    /** @description Where to ask for the order */
                    Location?: string;
                    /** @description Seconds */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PurchaseAnswer"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Early */
            425: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-ticket": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sale: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TicketBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TicketView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Early */
            425: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description Seconds until it is worth asking again, where that is known */
                    "Retry-After"?: number;
                    /** @description Names this request in our logs */
                    "X-Trace-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
