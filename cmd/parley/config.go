package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"parley/internal/auth"
	"parley/internal/builtin"
	"parley/internal/documents/ingest"
	"parley/internal/llm/ollama"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/telemetry"
)

// Config is every setting of Parley. The tags of a field define its flag, environment variables,
// key in the YAML file, default and explanation; the tables in README.md and docs/configuration.md
// are checked against them.
//
// Flag and environment names follow from the key: "limits.max_body" is --limits-max-body and
// PARLEY_LIMITS_MAX_BODY. A section tag begins a group of settings in the help and the
// documentation. Secret settings are never printed.
type Config struct {
	Addr        string   `section:"Start the server" name:"addr" env:"PARLEY_ADDR" yaml:"addr" default:"127.0.0.1:8000" help:"Address to listen on, as host:port. Port 0 takes a free one."`
	Data        string   `name:"data" env:"PARLEY_DATA" yaml:"data" default:"parley-data" help:"Folder that holds everything Parley stores. It is created if it does not exist."`
	Database    string   `name:"database" env:"PARLEY_DATABASE" yaml:"database" secret:"" help:"PostgreSQL database to store in instead of the data folder, as postgres://USER:PASSWORD@HOST/NAME. Set it in the environment rather than on the command line, which others can read. The data folder then holds only caches."`
	Namespace   string   `name:"namespace" env:"PARLEY_NAMESPACE" yaml:"namespace" default:"default" help:"Namespace to ingest into and to answer from."`
	PublicURL   string   `name:"public-url" env:"PARLEY_PUBLIC_URL" yaml:"public_url" help:"URL under which clients reach this server, for links to sources. By default it is taken from each request."`
	CORSOrigins []string `name:"cors-origins" env:"PARLEY_CORS_ORIGINS" yaml:"cors_origins" help:"Origins of web pages that may call the server, separated by commas. By default those on this machine."`
	Embed       []string `name:"embed-origins" env:"PARLEY_EMBED_ORIGINS" yaml:"embed.origins" help:"Origins of web sites that may show the chat on their pages, separated by commas. docs/embed.md has the line to paste there. By default those on this machine."`
	LogLevel    string   `name:"log-level" env:"PARLEY_LOG_LEVEL" yaml:"log_level" default:"info" help:"Lowest level that is logged: debug, info, warn or error."`
	Telemetry   string   `name:"telemetry-endpoint" env:"PARLEY_TELEMETRY_ENDPOINT,OTEL_EXPORTER_OTLP_ENDPOINT" yaml:"telemetry.endpoint" help:"URL of an OpenTelemetry collector (OTLP over HTTP), such as http://localhost:4318, to which a server sends traces and metrics. By default none."`
	Traced      bool     `name:"telemetry-content" env:"PARLEY_TELEMETRY_CONTENT,OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" yaml:"telemetry.content" default:"false" help:"Let traces hold the prompts and answers of models, which quote documents and people."`
	Drain       duration `name:"drain" env:"PARLEY_DRAIN" yaml:"drain" default:"30s" help:"How long running answers may go on after the server was asked to stop."`

	AuthAnonymous string   `section:"Let people and programs sign in" name:"auth-anonymous" env:"PARLEY_AUTH_ANONYMOUS" yaml:"auth.anonymous" default:"auto" help:"Whether callers may ask without signing in: true, false or auto. auto means only if the server listens on a loopback address, and neither an identity provider nor auth.proxies is configured."`
	AuthOIDC      issuers  `name:"auth-oidc" env:"PARLEY_AUTH_OIDC" yaml:"auth.oidc" mapping:"" placeholder:"MAPPING" help:"OpenID Connect providers whose tokens sign people in, by a name of your choice. Each has issuer (a URL), audience (for tokens of programs) or client_id (to sign in on the web page) and, if needed, title, client_secret_env, scopes, spa_client_id, spa_scopes, clients, subject, email, groups, prefix, require, editors and administrators. {corp: {issuer: https://login.example.com, client_id: parley}}. docs/signin.md explains them."`
	AuthProxies   proxies  `name:"auth-proxies" env:"PARLEY_AUTH_PROXIES" yaml:"auth.proxies" mapping:"" placeholder:"MAPPING" help:"Front ends that sign people in and say in headers who they are, by name. Each has from (addresses or networks), secret_env (the variable with the secret that it sends as its key), user (a header) and, if needed, email, groups (headers), prefix, editors and administrators. docs/signin.md has those of Open WebUI and LibreChat."`
	AuthLibreChat string   `name:"auth-librechat-secret" env:"PARLEY_AUTH_LIBRECHAT_SECRET" yaml:"auth.librechat_secret" secret:"" help:"LibreChat's JWT_SECRET, at least 32 characters. With it, LibreChat's users may use the routes below /p/librechat, and nobody else without a key. Prefer the environment."`
	AuthSession   duration `name:"auth-session" env:"PARLEY_AUTH_SESSION" yaml:"auth.session" default:"12h" help:"How long somebody who signs in on the web page stays signed in; at least 1m."`

	Model                 string    `section:"Choose the model that answers" name:"model" env:"PARLEY_MODEL" yaml:"model" default:"builtin:extractive" help:"Model that answers, as provider:model. Providers are builtin, openai, azure-openai, anthropic, gemini, ollama, and those of the setting providers."`
	Fallback              []string  `name:"fallback" env:"PARLEY_FALLBACK" yaml:"fallback" help:"Models that answer, in this order, when the model fails before its first word. builtin:extractive may be the last."`
	OpenAIAPIKey          string    `name:"openai-api-key" env:"PARLEY_OPENAI_API_KEY,OPENAI_API_KEY" yaml:"openai.api_key" secret:"" help:"Key for openai: models. Prefer the environment: other users of the machine can see command lines."`
	OpenAIBaseURL         string    `name:"openai-base-url" env:"PARLEY_OPENAI_BASE_URL,OPENAI_BASE_URL" yaml:"openai.base_url" default:"https://api.openai.com/v1" help:"Address of the OpenAI-compatible API for openai: models."`
	AzureOpenAIEndpoint   string    `name:"azure-openai-endpoint" env:"PARLEY_AZURE_OPENAI_ENDPOINT,AZURE_OPENAI_ENDPOINT" yaml:"azure_openai.endpoint" help:"Resource for azure-openai: models, such as https://NAME.openai.azure.com. The model is the name of the deployment."`
	AzureOpenAIAPIKey     string    `name:"azure-openai-api-key" env:"PARLEY_AZURE_OPENAI_API_KEY,AZURE_OPENAI_API_KEY" yaml:"azure_openai.api_key" secret:"" help:"Key for azure-openai: models. Prefer the environment."`
	AzureOpenAIAPIVersion string    `name:"azure-openai-api-version" env:"PARLEY_AZURE_OPENAI_API_VERSION,OPENAI_API_VERSION" yaml:"azure_openai.api_version" default:"2024-10-21" help:"API version for azure-openai: models: a date, or v1."`
	AnthropicAPIKey       string    `name:"anthropic-api-key" env:"PARLEY_ANTHROPIC_API_KEY,ANTHROPIC_API_KEY" yaml:"anthropic.api_key" secret:"" help:"Key for anthropic: models. Prefer the environment."`
	AnthropicBaseURL      string    `name:"anthropic-base-url" env:"PARLEY_ANTHROPIC_BASE_URL,ANTHROPIC_BASE_URL" yaml:"anthropic.base_url" default:"https://api.anthropic.com" help:"Address of the Messages API for anthropic: models."`
	GeminiAPIKey          string    `name:"gemini-api-key" env:"PARLEY_GEMINI_API_KEY,GEMINI_API_KEY,GOOGLE_API_KEY" yaml:"gemini.api_key" secret:"" help:"Key for gemini: models. Prefer the environment."`
	GeminiBaseURL         string    `name:"gemini-base-url" env:"PARLEY_GEMINI_BASE_URL" yaml:"gemini.base_url" default:"https://generativelanguage.googleapis.com" help:"Address of the Gemini API for gemini: models."`
	OllamaHost            string    `name:"ollama-host" env:"PARLEY_OLLAMA_HOST,OLLAMA_HOST" yaml:"ollama.host" default:"127.0.0.1:11434" help:"Address of Ollama, for ollama: models."`
	Providers             endpoints `name:"providers" env:"PARLEY_PROVIDERS" yaml:"providers" mapping:"" placeholder:"MAPPING" help:"More OpenAI-compatible servers, by name. Each has base_url and, if needed, api_key_env (the variable that holds its key), reasoning (its reasoning models) and rerank (true for a server with the /rerank API). {groq: {base_url: https://api.groq.com/openai/v1, api_key_env: GROQ_API_KEY}} adds groq: models."`

	AzureOpenAITokenFile          string `section:"Use Azure OpenAI without a key" name:"azure-openai-token-file" env:"PARLEY_AZURE_OPENAI_TOKEN_FILE" yaml:"azure_openai.token_file" help:"File that holds such a token. It is read for each call, so that another program can renew it."`
	AzureOpenAIManagedIdentity    bool   `name:"azure-openai-managed-identity" env:"PARLEY_AZURE_OPENAI_MANAGED_IDENTITY" yaml:"azure_openai.managed_identity" default:"false" help:"Get tokens with the managed identity of this virtual machine."`
	AzureOpenAITenantID           string `name:"azure-openai-tenant-id" env:"PARLEY_AZURE_OPENAI_TENANT_ID,AZURE_TENANT_ID" yaml:"azure_openai.tenant_id" help:"Tenant of the application that gets tokens when there is no key."`
	AzureOpenAIClientID           string `name:"azure-openai-client-id" env:"PARLEY_AZURE_OPENAI_CLIENT_ID,AZURE_CLIENT_ID" yaml:"azure_openai.client_id" help:"Id of that application, or of the managed identity if there are several."`
	AzureOpenAIClientSecret       string `name:"azure-openai-client-secret" env:"PARLEY_AZURE_OPENAI_CLIENT_SECRET,AZURE_CLIENT_SECRET" yaml:"azure_openai.client_secret" secret:"" help:"Secret of the application. Prefer the environment."`
	AzureOpenAIFederatedTokenFile string `name:"azure-openai-federated-token-file" env:"PARLEY_AZURE_OPENAI_FEDERATED_TOKEN_FILE,AZURE_FEDERATED_TOKEN_FILE" yaml:"azure_openai.federated_token_file" help:"File that holds the token of another issuer that the application trusts instead of a secret (workload identity)."`

	Allow         []string     `section:"Control what models do" name:"models-allow" env:"PARLEY_MODELS_ALLOW" yaml:"models.allow" help:"Models that requests may name, as provider:model, besides those that the stages use. * stands for any text, as in openai:gpt-4.1*. By default all models of configured providers."`
	Capabilities  capabilities `name:"capabilities" env:"PARLEY_CAPABILITIES" yaml:"capabilities" mapping:"" placeholder:"MAPPING" help:"What models accept, where their names do not tell. By provider:model: like (a model of the same provider), vision, tools, schema, effort, temperature, top_p, stop (true or false) and context (tokens). {'azure-openai:prod': {like: gpt-5-mini}, 'local:pixtral': {vision: true}}."`
	StagesRewrite []string     `name:"stages-rewrite" env:"PARLEY_STAGES_REWRITE" yaml:"stages.rewrite" help:"Models that turn follow-up questions into questions that stand alone: the first, and its fallbacks. By default the model and its fallbacks. builtin:rules uses rules instead of a model; they also step in when all models fail."`
	StagesRerank  []string     `name:"stages-rerank" env:"PARLEY_STAGES_RERANK" yaml:"stages.rerank" help:"Models that reorder the passages when a request asks for it: rerank models, or models that answer, as judges. By default builtin:reader, a model that is part of the program and reads English; for other languages, and where the processor is too slow, builtin:lexical, which looks at the positions of words."`
	StagesSummary []string     `name:"stages-summary" env:"PARLEY_STAGES_SUMMARY" yaml:"stages.summary" help:"Models that summarize the part of a conversation that is too long for the prompt. By default the model and its fallbacks. builtin:none leaves that part out; so does Parley when all models fail."`
	StagesJudge   []string     `name:"stages-judge" env:"PARLEY_STAGES_JUDGE" yaml:"stages.judge" help:"Models that judge whether the cited pages support the answer: one more call for each answer. By default none: Parley compares words. It also does so when all models fail, or with builtin:words."`
	Prompts       string       `name:"prompts" env:"PARLEY_PROMPTS" yaml:"prompts" placeholder:"DIR" help:"Folder with prompts that extend or replace the built-in ones. It has a folder for each domain, with any of the files that parley prompts lists."`

	Embedding           string `section:"Search by meaning" name:"embedding" env:"PARLEY_EMBEDDING" yaml:"embedding" default:"auto" help:"Model that embeds documents and questions, as provider:model, such as openai:text-embedding-3-small, or builtin:multilingual-e5-small, which is part of the program and knows many languages. none means search by words alone. auto means the built-in model if the built-in answerer answers, and none with a language model or on a slow processor. With auto, only servers embed documents, in the background."`
	EmbeddingDimensions int    `name:"embedding-dimensions" env:"PARLEY_EMBEDDING_DIMENSIONS" yaml:"embedding_dimensions" default:"0" help:"Length of the vectors, for embedding models that can shorten them. 0 means the model's own."`

	IndexMemory size `name:"index-memory" env:"PARLEY_INDEX_MEMORY" yaml:"index.memory" default:"0" help:"Memory for the indexes of all namespaces in a server. Above it, those that were not searched for longest leave the memory, and are read again when they are. On PostgreSQL with pgvector, vectors of a namespace that take more than half of it are searched by pgvector. 0 means half of the memory of the machine or container."`

	IngestWatch        bool     `section:"Read files" name:"ingest-watch" env:"PARLEY_INGEST_WATCH" yaml:"ingest.watch" default:"false" help:"Let the server follow all files and folders that were ingested from its disk: changes are indexed, and deleted files forgotten, at once."`
	IngestImages       bool     `name:"ingest-images" env:"PARLEY_INGEST_IMAGES" yaml:"ingest.images" default:"false" help:"Also ingest image files (PNG, JPEG, GIF, WebP, TIFF). They are found by their names, their descriptions and the text in them (ingest.ocr)."`
	IngestOCR          string   `name:"ingest-ocr" env:"PARLEY_INGEST_OCR" yaml:"ingest.ocr" default:"auto" help:"Recognise the text on scanned pages and in image files, in the background: always, off, or auto for documents with at most ingest.ocr_pages such pages. A page takes some seconds of one CPU."`
	IngestOCRPages     int      `name:"ingest-ocr-pages" env:"PARLEY_INGEST_OCR_PAGES" yaml:"ingest.ocr_pages" default:"100" help:"Maximum number of scanned pages in a document for which ingest.ocr=auto recognises text."`
	IngestOCRLanguages []string `name:"ingest-ocr-languages" env:"PARLEY_INGEST_OCR_LANGUAGES" yaml:"ingest.ocr_languages" default:"eng" help:"Languages of scanned pages, by Tesseract's names, separated by commas, with the most likely one first: eng, deu, fra, chi_sim and so on. English is part of the program. Each further language takes more time. After a change, the next ingestion reads scanned pages again."`
	IngestOCRData      string   `name:"ingest-ocr-data" env:"PARLEY_INGEST_OCR_DATA" yaml:"ingest.ocr_data" help:"Folder with the files LANGUAGE.traineddata of Tesseract 4 or 5 for the languages of scanned pages, such as /usr/share/tesseract-ocr/5/tessdata or a copy of github.com/tesseract-ocr/tessdata_fast."`
	IngestOCRModel     string   `name:"ingest-ocr-model" env:"PARLEY_INGEST_OCR_MODEL" yaml:"ingest.ocr_model" help:"Model that reads the pictures of scanned pages and of image files, as provider:model, instead of Tesseract. The pictures are sent to it, and each costs what its tokens cost. Tesseract reads the pages that it refuses. By default none: no picture leaves the machine."`
	IngestTranscriber  string   `name:"ingest-transcriber" env:"PARLEY_INGEST_TRANSCRIBER" yaml:"ingest.transcriber" help:"Model that transcribes recordings (sound and film), as provider:model, such as openai:whisper-1 or a model of one of the providers. Recordings are sent to it, and cited by minute. By default none: recordings are not read."`
	IngestNamespaces   []string `name:"ingest-namespaces" env:"PARLEY_INGEST_NAMESPACES" yaml:"ingest.namespaces" default:"*" help:"Other namespaces that front matter, sidecar files and the parley.yaml of folders may name. An asterisk at the end stands for any text; none allows no other. Uploaded files may not name any."`
	IngestChunkSize    int      `name:"ingest-chunk-size" env:"PARLEY_INGEST_CHUNK_SIZE" yaml:"ingest.chunk_size" default:"1000" help:"Target size of the chunks into which documents are cut, in characters, from 200 to 8000. After a change, the next ingestion cuts documents again. Embedding models read only the beginning of a chunk that is too long for them."`
	IngestChunkOverlap int      `name:"ingest-chunk-overlap" env:"PARLEY_INGEST_CHUNK_OVERLAP" yaml:"ingest.chunk_overlap" default:"100" help:"Maximum overlap of two chunks, in characters: a chunk repeats whole sentences from the end of the one before. At most half of ingest.chunk_size. 0 means no overlap."`
	ExtractWorkers     int      `name:"extract-workers" env:"PARLEY_EXTRACT_WORKERS" yaml:"extract.workers" default:"0" help:"Processes that read files during ingestion. 0 means one for each CPU, at most four."`
	ExtractTimeout     duration `name:"extract-timeout" env:"PARLEY_EXTRACT_TIMEOUT" yaml:"extract.timeout" default:"30s" help:"Time limit for reading one file."`
	ExtractMemory      size     `name:"extract-memory" env:"PARLEY_EXTRACT_MEMORY" yaml:"extract.memory" default:"512MiB" help:"Memory limit of a process that reads files; at least 192MiB."`

	IngestSchedule    duration `section:"Read web sites and other sources" name:"ingest-schedule" env:"PARLEY_INGEST_SCHEDULE" yaml:"ingest.schedule" default:"0" help:"How often a server reads the ingested web sites and remote sources again, for example 6h; at least 1m. 0 means never."`
	IngestSources     remotes  `name:"ingest-sources" env:"PARLEY_INGEST_SOURCES" yaml:"ingest.sources" mapping:"" placeholder:"MAPPING" help:"Remote sources that a server keeps in step, by a name of your choice: git repositories, buckets, WebDAV and SFTP folders, mailboxes. Each has address and, if needed, user, secret_env (the variable with the password, token or key), key_file, known_hosts, endpoint and region, and users, groups and category of its documents, a quota for the size of all its files (2GiB), and paused: true if its first run is to wait until somebody starts it. source_rights: true, instead of users and groups, makes each document visible to those who may read it at the source. All but paused also count for addresses below theirs on the command line. {handbook: {address: s3://handbook/public, user: AKIAEXAMPLE, secret_env: HANDBOOK_KEY}}. docs/ingestion.md has the kinds."`
	IngestKeepLost    duration `name:"ingest-keep-lost" env:"PARLEY_INGEST_KEEP_LOST" yaml:"ingest.keep_lost" default:"0" help:"How long documents stay when their remote source fails or is suddenly empty, for example 30d. 0 keeps them until somebody removes the source, or reads it with --delete-missing."`
	CrawlContact      string   `name:"crawl-contact" env:"PARLEY_CRAWL_CONTACT" yaml:"crawl.contact" help:"Web or mail address for the operators of web sites that Parley reads. It is part of the User-Agent header."`
	CrawlDelay        duration `name:"crawl-delay" env:"PARLEY_CRAWL_DELAY" yaml:"crawl.delay" default:"500ms" help:"Minimum time between two requests to a web site. A longer Crawl-delay in its robots.txt wins, up to 30s."`
	CrawlAllowPrivate []string `name:"crawl-allow-private" env:"PARLEY_CRAWL_ALLOW_PRIVATE" yaml:"crawl.allow_private" help:"Private hosts, addresses and networks (10.1.0.0/16) that Parley may read from, separated by commas. By default none, so that no URL reaches into the server's own network."`

	UploadsEnabled  string `section:"Accept documents over the network" name:"uploads-enabled" env:"PARLEY_UPLOADS_ENABLED" yaml:"uploads.enabled" default:"auto" help:"Whether documents may be uploaded, indexed and deleted over the network: true, false or auto. With auto, by editors who sign in, and by everybody only if the server listens on this machine alone and has no other public URL. With true, whoever may ask without signing in can change the documents for everybody."`
	UploadsQuota    size   `name:"uploads-quota" env:"PARLEY_UPLOADS_QUOTA" yaml:"uploads.quota" default:"20GiB" help:"Maximum total size of all uploaded files, including those that wait to be indexed. 0 means no limit."`
	LimitsMaxUpload size   `name:"limits-max-upload" env:"PARLEY_LIMITS_MAX_UPLOAD" yaml:"limits.max_upload" default:"200MiB" help:"Maximum size of one upload, all its files together."`

	Tools           []string   `section:"Let models use tools" name:"tools-enabled" env:"PARLEY_TOOLS_ENABLED" yaml:"tools.enabled" default:"calculator,date_time,get_weather,search_documents" help:"Tools that models may call: calculator, date_time, fetch_url, get_weather, search_documents, web_search; or none. Be careful with fetch_url: a web page can trick the model into sending what it knows to an address."`
	ToolsNamespaces toolLists  `name:"tools-namespaces" env:"PARLEY_TOOLS_NAMESPACES" yaml:"tools.namespaces" mapping:"" placeholder:"MAPPING" help:"Tools that models may call in a namespace, where that is fewer than tools.enabled: {hr: [calculator]}."`
	WebSearchEngine string     `name:"web-search-engine" env:"PARLEY_WEB_SEARCH_ENGINE" yaml:"web_search.engine" help:"Search engine of the tool web_search: brave, tavily or the address of a SearXNG server. Requests of the Chat-with-RAG API may then use that tool with use_web_search, even if it is not enabled."`
	WebSearchAPIKey string     `name:"web-search-api-key" env:"PARLEY_WEB_SEARCH_API_KEY,BRAVE_API_KEY,TAVILY_API_KEY" yaml:"web_search.api_key" secret:"" help:"Key for brave or tavily. Prefer the environment."`
	MCP             mcpServers `name:"mcp" env:"PARLEY_MCP" yaml:"mcp" mapping:"" placeholder:"MAPPING" help:"MCP servers whose tools models may call, by name. Each has command (a list) or url and, if needed, env, env_from (variables that the process gets), headers_env (header to variable), oauth (how Parley signs in there), tools (by default those that change nothing), trust (tools that need no confirmation) and timeout."`

	LimitsMaxConcurrent    int      `section:"Limit load and storage" name:"limits-max-concurrent" env:"PARLEY_LIMITS_MAX_CONCURRENT" yaml:"limits.max_concurrent" default:"256" help:"Maximum number of answers in progress. One user or address can use at most three quarters of it. Further requests get 429."`
	LimitsMaxBody          size     `name:"limits-max-body" env:"PARLEY_LIMITS_MAX_BODY" yaml:"limits.max_body" default:"1MiB" help:"Maximum size of a request body."`
	LimitsChats            int      `name:"limits-chats" env:"PARLEY_LIMITS_CHATS" yaml:"limits.chats" default:"100000" help:"Maximum number of chats, and of sessions, that all people without sign-in can store together, at 100 KiB each on average. Beyond that, the address that stores the most loses its least recently used ones. 0 means no limit."`
	LimitsAddressChats     int      `name:"limits-address-chats" env:"PARLEY_LIMITS_ADDRESS_CHATS" yaml:"limits.address_chats" default:"10000" help:"Maximum number of chats, and of sessions, that people without sign-in can store from one address, or one network of IPv6, at 100 KiB each on average. Beyond that, the address loses its least recently used ones. Requests from this machine, such as those of a proxy on it, are bounded by limits.chats alone. 0 means no limit."`
	Retention              duration `name:"retention" env:"PARLEY_RETENTION" yaml:"retention" default:"30d" help:"How long turns without a conversation, and responses of the Responses API, are kept, for example 12h or 30d. 0 keeps them forever."`
	ConversationsRetention duration `name:"conversations-retention" env:"PARLEY_CONVERSATIONS_RETENTION" yaml:"conversations.retention" default:"0" help:"How long conversations, sessions and chats are kept after they were last used, for example 90d. 0 keeps them until somebody deletes them."`
	AuditRetention         duration `name:"audit-retention" env:"PARLEY_AUDIT_RETENTION" yaml:"audit.retention" default:"365d" help:"How long the audit log keeps entries. 0 keeps them forever."`
	RAGChatSessionExpiry   duration `name:"ragchat-session-expiry" env:"PARLEY_RAGCHAT_SESSION_EXPIRY" yaml:"ragchat.session_expiry" default:"90d" help:"How long a session of the Chat-with-RAG API is kept after its last message. 0 keeps it forever."`

	Prices                   string   `section:"Limit cost" name:"prices" env:"PARLEY_PRICES" yaml:"prices" help:"YAML file with prices of models that add to the built-in ones. docs/configuration.md shows its form."`
	BudgetsWindow            duration `name:"budgets-window" env:"PARLEY_BUDGETS_WINDOW" yaml:"budgets.window" default:"1d" help:"Period that budgets apply to. A period of one day begins at midnight UTC."`
	BudgetsUserRequests      int64    `name:"budgets-user-requests" env:"PARLEY_BUDGETS_USER_REQUESTS" yaml:"budgets.user.requests" default:"0" help:"Maximum number of answers for one user in a period. Further requests get 429 with Retry-After. 0 means no limit."`
	BudgetsUserTokens        int64    `name:"budgets-user-tokens" env:"PARLEY_BUDGETS_USER_TOKENS" yaml:"budgets.user.tokens" default:"0" help:"Maximum number of tokens, read and written, for one user in a period. 0 means no limit."`
	BudgetsUserCost          dollars  `name:"budgets-user-cost" env:"PARLEY_BUDGETS_USER_COST" yaml:"budgets.user.cost" default:"0" help:"Maximum cost, in US dollars, of one user in a period. 0 means no limit."`
	BudgetsNamespaceRequests int64    `name:"budgets-namespace-requests" env:"PARLEY_BUDGETS_NAMESPACE_REQUESTS" yaml:"budgets.namespace.requests" default:"0" help:"Maximum number of answers from one namespace in a period. 0 means no limit."`
	BudgetsNamespaceTokens   int64    `name:"budgets-namespace-tokens" env:"PARLEY_BUDGETS_NAMESPACE_TOKENS" yaml:"budgets.namespace.tokens" default:"0" help:"Maximum number of tokens, read and written, for one namespace in a period. 0 means no limit."`
	BudgetsNamespaceCost     dollars  `name:"budgets-namespace-cost" env:"PARLEY_BUDGETS_NAMESPACE_COST" yaml:"budgets.namespace.cost" default:"0" help:"Maximum cost, in US dollars, of one namespace in a period. 0 means no limit."`
	BudgetsAssumedPrice      dollars  `name:"budgets-assumed-price" env:"PARLEY_BUDGETS_ASSUMED_PRICE" yaml:"budgets.assumed_price" default:"50" help:"Price, in US dollars for a million tokens, that budgets assume for a model without a known price. Reports still show its cost as unknown. 0 refuses such models."`

	ChatUIFormat               string `section:"Fit a front end" name:"chatui-format" env:"PARLEY_CHATUI_FORMAT" yaml:"chatui.format" default:"full" help:"Default shape of replies in the Chat UI's standard chat: full (one message) or minimal (an array of one message, which older clients need)."`
	ChatUIStreamPartials       bool   `name:"chatui-stream-partials" env:"PARLEY_CHATUI_STREAM_PARTIALS" yaml:"chatui.stream_partials" default:"true" negatable:"" help:"Stream answers of the Chat UI API piece by piece, unless a request says otherwise. Some clients show each event as a separate message."`
	TeamAgents                 agents `name:"team-agents" env:"PARLEY_TEAM_AGENTS" yaml:"team.agents" mapping:"" placeholder:"LIST" help:"Agents of multi-agent chat instead of Research and Writer: a list, each with name and, if needed, instructions, model, tools, retrieves, hears (names; by default all before it), reviews (a name), share and skip_below. docs/configuration.md explains them."`
	TeamReviewer               bool   `name:"team-reviewer" env:"PARLEY_TEAM_REVIEWER" yaml:"team.reviewer" default:"false" help:"Let a third agent check the citations in multi-agent chat; it can send the answer back once."`
	RAGChatShowProcessingSteps bool   `name:"ragchat-show-processing-steps" env:"PARLEY_RAGCHAT_SHOW_PROCESSING_STEPS,SHOW_PROCESSING_STEPS" yaml:"ragchat.show_processing_steps" default:"true" negatable:"" help:"Stream the steps before the final answer in the Chat-with-RAG API, unless a request says otherwise."`
}

// forgetEnv keeps kong from reading the environment, because layers reads it with its place before
// the file. The variable names move into the help.
func forgetEnv(k *kong.Kong) error {
	for _, flag := range k.Model.Flags {
		if len(flag.Tag.Envs) > 0 {
			flag.Help += " ($" + strings.Join(flag.Tag.Envs, ", $") + ")"
		}
		flag.Tag.Envs = nil
	}
	return nil
}

// validate returns the first setting with an invalid value, or nil.
func (c *Config) validate() *settingError {
	for _, check := range c.checks() {
		if check.err != nil {
			return &check
		}
	}
	return nil
}

// checks returns a result for each setting that can be wrong. The err of a valid one is nil.
func (c *Config) checks() []settingError {
	return []settingError{
		{"addr", checkAddr(c.Addr)},
		{"auth-anonymous", unless(slices.Contains([]string{settingAuto, settingOn, settingOff}, c.AuthAnonymous),
			"%q is not one of auto, true and false", c.AuthAnonymous)},
		{"auth-oidc", c.AuthOIDC.check()},
		{"auth-proxies", c.AuthProxies.check()},
		{"auth-librechat-secret", unless(c.AuthLibreChat == "" || len(c.AuthLibreChat) >= auth.MinSecret, "must have at least %d characters", auth.MinSecret)},
		{"auth-session", unless(c.AuthSession >= duration(time.Minute) && c.AuthSession <= duration(365*24*time.Hour), "must be between 1m and 365d")},
		{"data", unless(c.Data != "", "is empty; name the folder to store in")},
		{"database", unless(c.Database == "" || store.IsURL(c.Database), "must begin with postgres://")},
		{"providers", c.Providers.check()},
		{"model", c.checkAnswers(c.Model)},
		{"fallback", c.checkFallback()},
		{"capabilities", c.Capabilities.check(c.providerNames())},
		{"embedding", c.checkEmbedding()},
		{"embedding-dimensions", unless(c.EmbeddingDimensions >= 0 && c.EmbeddingDimensions <= maxDimensions,
			"must be between 1 and %d; 0 means the model's own", maxDimensions)},
		{"stages-rewrite", checkStage(c.StagesRewrite, c.namesThat(answers), builtinRewriter)},
		{"stages-rerank", checkStage(c.StagesRerank, c.providerNames(), builtinReader, builtinLexical)},
		{"stages-summary", checkStage(c.StagesSummary, c.namesThat(answers), builtinSummary)},
		{"stages-judge", checkStage(c.StagesJudge, c.namesThat(answers), builtinJudge)},
		{"models-allow", c.checkAllow()},
		{"namespace", retrieval.CheckNamespace(c.Namespace)},
		{"ingest-namespaces", checkNamespacePatterns(c.IngestNamespaces)},
		{"ingest-ocr", unless(slices.Contains([]string{settingAuto, ocrAlways, ocrOff}, c.IngestOCR), "%q is not one of auto, always and off", c.IngestOCR)},
		{"ingest-ocr-pages", unless(c.IngestOCRPages >= 1, "must be at least 1; ingest.ocr says whether pages are recognised")},
		{"ingest-ocr-model", c.checkOCRModel()},
		{"ingest-transcriber", c.checkTranscriber()},
		{"ingest-ocr-languages", c.checkOCR()},
		{"ingest-chunk-size", ingest.CheckChunkSize(c.IngestChunkSize)},
		{"ingest-chunk-overlap", ingest.CheckChunkOverlap(c.IngestChunkOverlap, c.IngestChunkSize)},
		{"public-url", checkOptionalURL(c.PublicURL)},
		{"log-level", unless(slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel),
			"%q is not one of debug, info, warn and error", c.LogLevel)},
		{"telemetry-endpoint", checkTelemetry(c.Telemetry)},
		{"cors-origins", checkOrigins(c.CORSOrigins)},
		{"embed-origins", checkOrigins(c.Embed)},
		{"retention", unless(c.Retention >= 0, "must not be negative; 0 keeps everything forever")},
		{"conversations-retention", unless(c.ConversationsRetention >= 0, "must not be negative; 0 keeps everything forever")},
		{"audit-retention", unless(c.AuditRetention >= 0, "must not be negative; 0 keeps everything forever")},
		{"drain", unless(c.Drain >= 0, "must not be negative")},
		{"openai-base-url", checkURL(c.OpenAIBaseURL)},
		{"azure-openai-endpoint", checkOptionalURL(c.AzureOpenAIEndpoint)},
		{"azure-openai-api-version", unless(c.AzureOpenAIAPIVersion != "", "is empty; give a date such as 2024-10-21, or v1")},
		{"anthropic-base-url", checkURL(c.AnthropicBaseURL)},
		{"gemini-base-url", checkURL(c.GeminiBaseURL)},
		{"ollama-host", checkOllamaHost(c.OllamaHost)},
		{"tools-enabled", checkTools(c.Tools)},
		{"web-search-engine", checkWebSearch(c)},
		{"mcp", c.MCP.check()},
		{"limits-max-body", unless(c.LimitsMaxBody >= 1<<10, "must be at least 1KiB")},
		{"limits-max-upload", unless(c.LimitsMaxUpload >= 1<<10, "must be at least 1KiB")},
		{"uploads-enabled", unless(slices.Contains([]string{settingAuto, settingOn, settingOff}, c.UploadsEnabled),
			"%q is not one of auto, true and false", c.UploadsEnabled)},
		{"limits-chats", unless(c.LimitsChats >= 0, "must not be negative; 0 means no limit")},
		{"limits-address-chats", unless(c.LimitsAddressChats >= 0, "must not be negative; 0 means no limit")},
		{"limits-max-concurrent", unless(c.LimitsMaxConcurrent >= 1, "must be at least 1")},
		{"uploads-quota", unless(c.UploadsQuota >= 0, "must not be negative; 0 means no limit")},
		{"ingest-schedule", unless(c.IngestSchedule == 0 || c.IngestSchedule >= duration(time.Minute), "must be at least 1m; 0 means never")},
		{"ingest-sources", c.IngestSources.check()},
		{"ingest-keep-lost", unless(c.IngestKeepLost >= 0, "must not be negative; 0 keeps them")},
		{"crawl-contact", unless(!strings.ContainsFunc(c.CrawlContact, func(r rune) bool { return r <= ' ' || r > '~' || r == '(' || r == ')' }),
			"%q is not a web or mail address", c.CrawlContact)},
		{"crawl-delay", unless(c.CrawlDelay >= 0 && c.CrawlDelay <= duration(time.Minute), "must be between 0s and 1m")},
		{"crawl-allow-private", c.checkAllowPrivate()},
		{"budgets-window", unless(c.BudgetsWindow >= duration(time.Minute), "must be at least 1m")},
		{"budgets-user-requests", unless(c.BudgetsUserRequests >= 0, "must not be negative; 0 means no limit")},
		{"budgets-user-tokens", unless(c.BudgetsUserTokens >= 0, "must not be negative; 0 means no limit")},
		{"budgets-namespace-requests", unless(c.BudgetsNamespaceRequests >= 0, "must not be negative; 0 means no limit")},
		{"budgets-namespace-tokens", unless(c.BudgetsNamespaceTokens >= 0, "must not be negative; 0 means no limit")},
		{"ragchat-session-expiry", unless(c.RAGChatSessionExpiry >= 0, "must not be negative; 0 keeps sessions forever")},
		{"chatui-format", unless(slices.Contains([]string{"full", "minimal"}, c.ChatUIFormat), "%q is neither full nor minimal", c.ChatUIFormat)},
		{"team-agents", c.checkTeam()},
		{"extract-workers", unless(c.ExtractWorkers >= 0, "must not be negative; 0 means one for each CPU, at most four")},
		{"extract-timeout", unless(c.ExtractTimeout > 0, "must be longer than 0s")},
		{"extract-memory", unless(c.ExtractMemory >= 192<<20, "must be at least 192MiB")},
	}
}

// settingError is a setting whose value was read but is invalid.
type settingError struct {
	flag string
	err  error
}

// at returns a usage error that begins with the setting's origin, or with its flag.
func (e *settingError) at(origin string) error {
	if origin == "" {
		origin = "--" + e.flag
	}
	return usagef("%s: %w", origin, e.err)
}

func unless(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func checkAddr(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err == nil && port != "" {
		_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port) // a number, or the name of a service
	}
	if err != nil || port == "" {
		return fmt.Errorf("%q is not host:port, such as 127.0.0.1:8000 or :8000", s)
	}
	return nil
}

func checkTelemetry(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	return telemetry.Validate(endpoint)
}

// checkNamespacePatterns checks names of namespaces, which may end with an asterisk.
func checkNamespacePatterns(patterns []string) error {
	for _, p := range patterns {
		if name, all := strings.CutSuffix(p, "*"); all && name == "" {
			continue
		} else if err := retrieval.CheckNamespace(name); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	return nil
}

// noNamespaces, as the only pattern, stands for no namespace.
const noNamespaces = "none"

// namedNamespaces returns the patterns of the namespaces that files may name.
func (c *Config) namedNamespaces() []string {
	return slices.DeleteFunc(slices.Clone(c.IngestNamespaces), func(p string) bool { return p == noNamespaces })
}

func checkOptionalURL(s string) error {
	if s == "" {
		return nil
	}
	return checkURL(s)
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is not an absolute http or https URL", s)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q has a query or a fragment, which has no meaning here", s)
	}
	return nil
}

func checkOrigins(list []string) error {
	for _, s := range list {
		u, err := url.Parse(s)
		if s != "*" && (err != nil || u.Scheme == "" || u.Host == "" || s != u.Scheme+"://"+u.Host) {
			return fmt.Errorf("%q is neither an origin such as https://chat.example.com nor *", s)
		}
	}
	return nil
}

func (c *Config) checkFallback() error {
	for i, key := range c.Fallback {
		if key == builtinModel && i < len(c.Fallback)-1 {
			return fmt.Errorf("%q never fails, so no model can follow it", key)
		}
		if err := c.checkAnswers(key); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) checkAnswers(key string) error {
	return c.checkAble(key, answers, "has no models that answer")
}

// embedsNothing is the value of the setting embedding for search by words alone.
const embedsNothing = "none"

// embedder returns the model that embeds, "" for none, and whether nobody has chosen it. The default is the built-in embedder,
// which costs nothing, for the built-in answerer. A language model reads more passages, so it needs vectors less.
func (c *Config) embedder() (key string, byDefault bool) {
	switch {
	case c.Embedding == embedsNothing:
		return "", false
	case c.Embedding != settingAuto:
		return c.Embedding, false
	case c.Model != builtinModel || builtin.NewReader() == nil: // the processor is too slow: it would take hours
		return "", true
	}
	return "builtin:" + builtin.Embedders()[0], true
}

func (c *Config) checkEmbedding() error {
	if slices.Contains([]string{"", settingAuto, embedsNothing}, c.Embedding) {
		return nil
	}
	if name, ok := strings.CutPrefix(c.Embedding, "builtin:"); ok {
		if names := builtin.Embedders(); !slices.Contains(names, name) {
			return fmt.Errorf("%q is not a built-in embedder; there is builtin:%s", c.Embedding, strings.Join(names, ", builtin:"))
		}
		return nil
	}
	return c.checkAble(c.Embedding, embeds, "has no embeddings")
}

// checkAble checks the key of a model whose task not every provider supports.
func (c *Config) checkAble(key string, able func(provider) bool, unable string) error {
	names := c.namesThat(able)
	name, _, _ := strings.Cut(key, ":")
	if slices.Contains(c.providerNames(), name) && !slices.Contains(names, name) {
		return fmt.Errorf("%q: the provider %s %s; for that, there are %s", key, name, unable, strings.Join(names, ", "))
	}
	return checkModel(key, names)
}

func checkOllamaHost(s string) error {
	_, err := ollama.BaseURL(s)
	return err
}

func checkModel(key string, providers []string) error {
	provider, model, ok := strings.Cut(key, ":")
	if !ok || provider == "" || model == "" {
		return fmt.Errorf("%q is not provider:model, such as builtin:extractive or openai:gpt-4.1-mini", key)
	}
	if !slices.Contains(providers, provider) {
		last := len(providers) - 1
		return fmt.Errorf("%q names an unknown provider; there are %s and %s", key, strings.Join(providers[:last], ", "), providers[last])
	}
	if provider == "builtin" && key != builtinModel {
		return fmt.Errorf("%q is not a model of the provider builtin; there is %s", key, builtinModel)
	}
	return nil
}

// maxDimensions exceeds the length of any model's vectors.
const maxDimensions = 16_384

// usageError is a mistake in the command, the environment or the configuration file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func isUsage(err error) bool {
	_, ok := errors.AsType[usageError](err)
	return ok
}
