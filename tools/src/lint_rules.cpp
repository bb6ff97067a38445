// SPDX-License-Identifier: MIT
// The tables of rules: names by kind. A name is here if what it returns can differ between two
// machines that compute the same step.
#include "lint_rules.hpp"

#include <array>
#include <functional>
#include <map>
#include <utility>

namespace twinstep::tools::lint {

namespace {

/// Names apart by blanks.
struct NameRule {
    Hazard hazard;
    std::string_view names;
    std::string_view instead; ///< "{}" stands for the name.
};

/// In all the types that C gives them: sin, sinf, sinl, sinf128, __sin_finite.
constexpr std::array math_rules{
    NameRule{Hazard::math,
             "sin cos tan asin acos atan atan2 sincos sinh cosh tanh exp exp2 exp10 expm1 log log2 "
             "log10 log1p pow cbrt hypot",
             "twinstep::math::{}"},
    NameRule{Hazard::math, "pow10", "twinstep::math::exp10"},
    NameRule{Hazard::math, "fmin", "twinstep::math::min"},
    NameRule{Hazard::math, "fmax", "twinstep::math::max"},
    NameRule{
        Hazard::math,
        "asinh acosh atanh sinpi cospi tanpi asinpi acospi atanpi atan2pi exp2m1 exp10m1 log2p1 "
        "log10p1 logp1 rootn pown powr compoundn powi erf erfc tgamma lgamma gamma lgamma_r j0 j1 "
        "jn y0 y1 yn csin ccos ctan casin cacos catan csinh ccosh ctanh casinh cacosh catanh cexp "
        "clog clog10 cpow csqrt cabs carg",
        "functions of twinstep::math, + - * / and sqrt; or a table that is part of the game"},
    NameRule{Hazard::math, "rsqrt", "twinstep::math::rsqrt"},
    NameRule{Hazard::fused,
             "fma ffma dfma",
             "a * b + c with -ffp-contract=off, as twinstep::sim sets it"},
};

constexpr std::string_view text_instead =
    "std::to_chars, std::from_chars, or text that is made outside of the step";
constexpr std::string_view random_instead =
    "step.random or twinstep::Draws, which are functions of the seed";
constexpr std::string_view time_instead = "step.tick; wall time stays outside of the step";
constexpr std::string_view locale_instead =
    "comparisons of bytes; text for people is made outside of the step";
constexpr std::string_view mode_instead =
    "the mode that the driver sets; twinstep::FloatEnvironmentGuard holds it elsewhere";
constexpr std::string_view thread_instead = "step.workers";

constexpr std::array name_rules{
    NameRule{Hazard::math,
             "__powisf2 __powidf2 __powixf2 __powitf2 __powikf2",
             "twinstep::math::pow, or multiplications in an order of your own"},
    NameRule{
        Hazard::long_double,
        "__addtf3 __subtf3 __multf3 __divtf3 __negtf2 __extendsftf2 __extenddftf2 __trunctfsf2 "
        "__trunctfdf2 __fixtfsi __fixtfdi __fixunstfsi __fixunstfdi __floatsitf __floatditf "
        "__floatunsitf __floatunditf __lttf2 __gttf2 __letf2 __getf2 __eqtf2 __netf2 __unordtf2 "
        "__addkf3 __subkf3 __mulkf3 __divkf3 _Q_add _Q_sub _Q_mul _Q_div _Qp_add _Qp_sub _Qp_mul "
        "_Qp_div",
        "double or float"},
    NameRule{
        Hazard::float_mode,
        "fesetround fesetenv feupdateenv feholdexcept feenableexcept fedisableexcept fesetmode "
        "fesetexcept _control87 _controlfp _controlfp_s __control87_2 _fpreset _set_controlfp",
        mode_instead},
    NameRule{Hazard::random,
             "rand srand rand_r random srandom random_r srandom_r initstate setstate initstate_r "
             "setstate_r drand48 erand48 lrand48 nrand48 mrand48 jrand48 srand48 seed48 lcong48 "
             "drand48_r "
             "lrand48_r mrand48_r srand48_r arc4random arc4random_buf arc4random_uniform getrandom "
             "getentropy rand_s SystemFunction036 RtlGenRandom CryptGenRandom BCryptGenRandom "
             "ProcessPrng",
             random_instead},
    NameRule{
        Hazard::time,
        // tidy: allow odd-clock: a name.
        "time clock gettimeofday clock_gettime clock_getres clock_nanosleep timespec_get ftime "
        "localtime localtime_r gmtime gmtime_r mktime timegm timelocal ctime ctime_r asctime "
        "asctime_r strftime strptime wcsftime difftime tzset times getrusage nanosleep usleep "
        "sleep "
        "_time32 _time64 _ftime32 _ftime64 _ftime _ftime64_s _localtime32 _localtime64 "
        "_localtime64_s _localtime32_s _gmtime32 _gmtime64 _gmtime64_s _gmtime32_s _mktime32 "
        "_mktime64 _mkgmtime64 _ctime32 _ctime64 _strtime _strdate _tzset __clock_gettime64 "
        "__gettimeofday64 __time64 __localtime64 __localtime64_r __gmtime64 __gmtime64_r "
        "__mktime64 "
        "clock_gettime64 QueryPerformanceCounter QueryPerformanceFrequency "
        "QueryUnbiasedInterruptTime GetTickCount GetTickCount64 timeGetTime timeGetSystemTime "
        "GetSystemTime GetLocalTime GetSystemTimeAsFileTime GetSystemTimePreciseAsFileTime "
        "NtQuerySystemTime NtQueryPerformanceCounter GetProcessTimes GetThreadTimes Sleep SleepEx "
        "_Query_perf_counter _Query_perf_frequency _Xtime_get_ticks mach_absolute_time "
        "mach_continuous_time",
        time_instead},
    NameRule{
        Hazard::locale,
        "setlocale _wsetlocale uselocale newlocale duplocale freelocale localeconv nl_langinfo "
        "nl_langinfo_l strcoll strcoll_l strxfrm strxfrm_l wcscoll wcsxfrm _stricoll _strncoll "
        "tolower toupper isalpha isalnum isupper islower isdigit isxdigit isspace ispunct isprint "
        "isgraph iscntrl isblank towlower towupper iswalpha iswalnum iswupper iswlower iswspace "
        "iswpunct iswprint iswctype towctrans strcasecmp strncasecmp _stricmp _strnicmp stricmp "
        "strnicmp wcscasecmp wcsncasecmp __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc "
        "mbstowcs wcstombs mbtowc wctomb mbrtowc wcrtomb mbsrtowcs wcsrtombs mblen mbrlen btowc "
        "wctob _configthreadlocale GetLocaleInfoA GetLocaleInfoW GetLocaleInfoEx "
        "GetUserDefaultLCID GetUserDefaultLocaleName CompareStringA CompareStringW "
        "CompareStringEx LCMapStringA LCMapStringW LCMapStringEx",
        locale_instead},
    NameRule{Hazard::sort, "qsort qsort_r qsort_s", "twinstep::total_sort"},
    NameRule{
        Hazard::text,
        "printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf asprintf vasprintf "
        "dprintf vdprintf wprintf fwprintf swprintf vwprintf vfwprintf vswprintf obstack_printf "
        "obstack_vprintf scanf fscanf sscanf vscanf vfscanf vsscanf wscanf fwscanf swscanf vwscanf "
        "vfwscanf vswscanf strtod strtof strtold strtof32 strtof64 strtof128 strtod_l strtof_l "
        "strtold_l wcstod wcstof wcstold atof strfromd strfromf strfroml strfmon gcvt ecvt fcvt "
        "qgcvt qecvt qfcvt ecvt_r fcvt_r __strtod_internal __strtof_internal __strtold_internal "
        "_snprintf _vsnprintf _snwprintf _vsnwprintf _vscprintf _scprintf _snprintf_s sprintf_s "
        "vsprintf_s vsnprintf_s _wtof _atodbl _atoflt _gcvt _ecvt _fcvt __stdio_common_vfprintf "
        "__stdio_common_vsprintf __stdio_common_vsnprintf_s __stdio_common_vsprintf_s "
        "__stdio_common_vfscanf __stdio_common_vsscanf __stdio_common_vfwprintf "
        "__stdio_common_vswprintf __stdio_common_vswscanf __ms_printf",
        text_instead},
    NameRule{
        Hazard::environment,
        "getenv secure_getenv __secure_getenv setenv putenv unsetenv clearenv _wgetenv getenv_s "
        "_dupenv_s _putenv _wputenv GetEnvironmentVariableA GetEnvironmentVariableW "
        "GetEnvironmentStringsW environ",
        "the configuration of the session, which is recorded"},
    NameRule{
        Hazard::thread,
        "pthread_self pthread_create pthread_equal pthread_getthreadid_np thrd_create thrd_current "
        "gettid getpid sched_getcpu get_nprocs pthread_setspecific GetCurrentThreadId "
        "GetCurrentProcessId GetCurrentProcessorNumber CreateThread _beginthread _beginthreadex "
        "GetSystemInfo _Thrd_id _Thrd_hardware_concurrency",
        thread_instead},
    NameRule{Hazard::fast_math,
             "set_fast_math",
             "a link without -ffast-math, -Ofast and -funsafe-math-optimizations"},
};

/// Beginnings of readable C++ names.
constexpr std::array path_rules{
    // tidy: allow c-random: a name.
    NameRule{Hazard::random, "std::random_device", random_instead},
    NameRule{Hazard::random, "std::_Random_device", random_instead},
    NameRule{Hazard::time, "std::chrono::system_clock", time_instead},
    NameRule{Hazard::time, "std::chrono::steady_clock", time_instead},
    // tidy: allow odd-clock: a name.
    NameRule{Hazard::time, "std::chrono::high_resolution_clock", time_instead},
    NameRule{Hazard::time, "std::chrono::current_zone", time_instead},
    NameRule{Hazard::locale, "std::locale", locale_instead},
    NameRule{Hazard::locale, "std::use_facet", locale_instead},
    NameRule{Hazard::locale, "std::ctype", locale_instead},
    NameRule{Hazard::locale, "std::collate", locale_instead},
    NameRule{Hazard::text, "std::__convert_to_v", text_instead},
    NameRule{Hazard::text, "std::ostream::_M_insert", text_instead},
    NameRule{Hazard::text, "std::ostream::operator<<", text_instead},
    NameRule{Hazard::text, "std::istream::_M_extract", text_instead},
    NameRule{Hazard::text, "std::istream::operator>>", text_instead},
    NameRule{Hazard::text, "std::basic_ostream::operator<<", text_instead},
    NameRule{Hazard::text, "std::basic_istream::operator>>", text_instead},
    NameRule{Hazard::text, "std::stod", text_instead},
    NameRule{Hazard::text, "std::stof", text_instead},
    NameRule{Hazard::text, "std::stold", text_instead},
    NameRule{Hazard::text, "std::num_put", text_instead},
    NameRule{Hazard::text, "std::num_get", text_instead},
    NameRule{Hazard::thread, "std::this_thread", thread_instead},
    NameRule{Hazard::thread, "std::thread", thread_instead},
    NameRule{Hazard::hash,
             "std::_Hash_bytes",
             "twinstep::FlatMap or a sorted key: std::hash differs between libraries"},
    NameRule{Hazard::hash,
             "std::_Fnv_hash_bytes",
             "twinstep::FlatMap or a sorted key: std::hash differs between libraries"},
    NameRule{Hazard::hash,
             "std::__hash_memory",
             "twinstep::FlatMap or a sorted key: std::hash differs between libraries"},
    NameRule{Hazard::hash,
             "std::__detail::_Prime_rehash_policy",
             "twinstep::FlatMap or SlotMap: the order of a hash table is an accident"},
    NameRule{Hazard::hash,
             "std::__next_prime",
             "twinstep::FlatMap or SlotMap: the order of a hash table is an accident"},
};

/// Beginnings of readable names of templates. What the compiler inlined has no name and is not
/// seen: these are the parts that are too large, or call themselves.
constexpr std::array definition_rules{
    NameRule{Hazard::sort, "std::__introsort_loop", "twinstep::total_sort instead of std::sort"},
    NameRule{Hazard::sort, "std::__introsort", "twinstep::total_sort instead of std::sort"},
    NameRule{
        Hazard::sort, "std::__introselect", "twinstep::total_sort instead of std::nth_element"},
    NameRule{Hazard::random, "std::uniform_int_distribution", random_instead},
    NameRule{Hazard::random, "std::uniform_real_distribution", random_instead},
    NameRule{Hazard::random, "std::normal_distribution", random_instead},
    NameRule{Hazard::random, "std::generate_canonical", random_instead},
    NameRule{Hazard::random, "std::shuffle", random_instead},
};

std::string filled(std::string_view instead, std::string_view name) {
    std::string text(instead);
    if (const std::size_t at = text.find("{}"); at != std::string::npos) {
        text.replace(at, 2, name);
    }
    return text;
}

using Table = std::map<std::string, Verdict, std::less<>>;

template <class Use>
void for_each_name(std::string_view names, const Use& use) {
    while (!names.empty()) {
        const std::size_t end = names.find(' ');
        const std::string_view name = names.substr(0, end);
        names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
        if (!name.empty()) {
            use(name);
        }
    }
}

Table make_table() {
    Table table;
    for (const NameRule& rule : math_rules) {
        for_each_name(rule.names, [&](std::string_view name) {
            const Verdict verdict{rule.hazard, std::string(name), filled(rule.instead, name)};
            for (const std::string_view type :
                 {"", "f", "l", "f16", "f32", "f64", "f128", "f32x", "f64x"}) {
                const std::string full = std::string(name) + std::string(type);
                table.emplace(full, verdict);
                table.emplace("__" + full + "_finite", verdict);
                table.emplace("__" + full, verdict);
            }
        });
    }
    for (const NameRule& rule : name_rules) {
        for_each_name(rule.names, [&](std::string_view name) {
            table.emplace(std::string(name),
                          Verdict{rule.hazard, std::string(name), filled(rule.instead, name)});
        });
    }
    return table;
}

/// The scalar name in one of a vector library's: _ZGVbN4v_sinf. Guard variables begin with _ZGV as
/// well, but then comes no small letter.
std::string_view vector_base(std::string_view name) {
    constexpr std::string_view prefix = "_ZGV";
    if (!name.starts_with(prefix) || name.size() < 8 || name[4] < 'a' || name[4] > 'z') {
        return {};
    }
    const std::size_t end = name.find('_', prefix.size());
    return end == std::string_view::npos ? std::string_view{} : name.substr(end + 1);
}

/// The name without what headers and compilers put around it.
std::string_view unwrapped(std::string_view name) {
    for (const std::string_view prefix : {"__isoc99_", "__isoc23_", "__mingw_", "__GI_"}) {
        if (name.starts_with(prefix)) {
            return name.substr(prefix.size());
        }
    }
    if (name.starts_with("__") && name.ends_with("_chk")) {
        return name.substr(2, name.size() - 6);
    }
    return name;
}

template <std::size_t count>
std::optional<Verdict> judge_beginning(const std::array<NameRule, count>& rules,
                                       std::string_view path) {
    for (const NameRule& rule : rules) {
        if (path.starts_with(rule.names)) {
            const std::string_view rest = path.substr(rule.names.size());
            if (rest.empty() || rest.starts_with("::")) {
                return Verdict{rule.hazard, std::string(rule.names), std::string(rule.instead)};
            }
        }
    }
    return std::nullopt;
}

} // namespace

std::string_view name_of(Hazard hazard) {
    constexpr std::array<std::string_view, 15> names{"math",
                                                     "fused",
                                                     "estimate",
                                                     "x87",
                                                     "long-double",
                                                     "float-mode",
                                                     "fast-math",
                                                     "random",
                                                     "time",
                                                     "locale",
                                                     "sort",
                                                     "text",
                                                     "environment",
                                                     "thread",
                                                     "hash"};
    return names[static_cast<std::size_t>(hazard)];
}

std::optional<Verdict> judge_function(std::string_view plain, bool coff) {
    static const Table table = make_table();
    // mingw-w64's sqrt rounds twice, on the x87; elsewhere sqrt is the one exact function.
    if (coff && plain == "sqrt") {
        return Verdict{Hazard::math, "sqrt", "twinstep::math::sqrt, or a build with optimisation"};
    }
    for (const std::string_view name : {plain, unwrapped(plain), vector_base(plain)}) {
        if (const auto found = table.find(name); found != table.end()) {
            return found->second;
        }
    }
    return std::nullopt;
}

std::optional<Verdict> judge_path(std::string_view path) {
    return judge_beginning(path_rules, path);
}

std::optional<Verdict> judge_definition(std::string_view path) {
    return judge_beginning(definition_rules, path);
}

std::string_view instead_of(Hazard hazard) {
    switch (hazard) {
    case Hazard::fused:
        return "a compiler flag: -ffp-contract=off, as the target twinstep::sim sets it";
    case Hazard::estimate:
        return "1 / x and sqrt, or twinstep::math::rsqrt";
    case Hazard::x87:
        return "float and double in SSE registers (-msse2 -mfpmath=sse); no long double";
    case Hazard::float_mode:
        return mode_instead;
    case Hazard::fast_math:
        return "a link without -ffast-math, -Ofast and -funsafe-math-optimizations";
    default:
        return {};
    }
}

} // namespace twinstep::tools::lint
